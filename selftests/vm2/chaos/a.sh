# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Chaos between two machines; vm2/chaos-reboot is another kind. For more rounds: qemu/run.sh --timeout 9000 --append
# rig.ROUNDS=50 selftests/vm2/chaos
#
# kernels: stock
# alone: devices and addresses come and go
# timeout: 900
. /rds/selftests/vm2/lib.sh

# --- both ask to connect at the same time ------------------------------------
#
# 25 pairs of addresses in each of 8 duels, no pair twice: so that requests meet, what is sent takes longer than it needs to
# begin. Each pair gets one connection, and each message arrives once.
ADDRESSES=25
DUELS=${DUELS:-8}

# addresses ROLE: what that machine uses beside its own
addresses()
{
	local i base=$([ "$1" = a ] && echo 0 || echo 100)
	for ((i = 1; i <= ADDRESSES; i++)); do
		echo "10.9.2.$((base + i))"
	done
}

slow_link() { addresses "$ROLE" | sed "s,.*,addr add &/24 dev $NETDEV," | ip -batch - && weather delay 100ms; }

duels()
{
	local round program other=$([ "$ROLE" = a ] && echo b || echo a)
	FOLDER=$(mktemp -d)
	# shellcheck disable=SC2046
	run_tap selftests/vm2/duel.py "$FOLDER" "$DUELS" $(addresses "$ROLE") -- $(addresses "$other") &
	program=$!
	for ((round = 0; round <= DUELS; round++)); do
		turn 240 "ready.$round" "start.$round" || break
	done
	turn 240 ready.end start.end || touch "$FOLDER/start.end"
	wait "$program"
}

# A run in which nobody asked at the same time would have shown nothing. The machine with the smaller addresses refuses.
they_met()
{
	echo "$(counter ib_connect_raced) requests refused, $(counter conn_reset) connections or attempts given up"
	[ "$(counter ib_connect_raced)" -ge $((ADDRESSES * DUELS / 10)) ]
}

# --- bad weather -------------------------------------------------------------
#
# The network loses, reorders and repeats packets, in each direction in its own way, and is black for a while, for one machine
# or both: each message arrives once, in order, unchanged; no operation is carried out twice; each notification comes.
BAD=("loss 1%" "loss 3%" "delay 3ms 2ms reorder 10% 50%" "duplicate 5%" "loss 1% duplicate 3% delay 2ms 1ms reorder 5%")
# seconds; a connection survives two
BLACK=3

storm()
{
	local words
	for words in "${BAD[@]}"; do
		# shellcheck disable=SC2086
		weather $words
		sleep 2
	done
	weather clear
	# a alone, both, b alone
	[ "$ROLE" = b ] || weather loss 100%
	sleep $BLACK
	[ "$ROLE" = a ] || weather loss 100%
	sleep $BLACK
	[ "$ROLE" = b ] || weather clear
	sleep $BLACK
	[ "$ROLE" = a ] || weather clear
}

# A run without a broken connection would have shown nothing. Which side breaks it and has something to send again is chance.
connections_broke()
{
	local resets resent
	put "resets of $ROLE" "$(counter conn_reset)"
	put "resent by $ROLE" "$(counter retransmitted)"
	resets=$(($(get "resets of a") + $(get "resets of b")))
	resent=$(($(get "resent by a") + $(get "resent by b")))
	echo "$resets connections or attempts given up, $resent messages sent again"
	[ "$resets" -gt 0 ] && [ "$resent" -gt 0 ]
}

# --- devices and addresses come and go ----------------------------------------
#
# The same holds while they do, first on one machine and then on the other. Nobody can unload the module meanwhile.
renew_address()
{
	ip addr del "$MY_ADDR/24" dev "$NETDEV" && sleep 2 && ip addr add "$MY_ADDR/24" dev "$NETDEV"
}

unloading_is_refused() { ! rmmod rds_sockets; }

# each COMMAND...: a does it, then b, while the other one goes on
each()
{
	sync_point "a: $*"
	[ "$ROLE" = b ] || "$@"
	sync_point "b: $*"
	[ "$ROLE" = a ] || "$@"
	sync_point "end: $*"
}

changes()
{
	sleep 1
	check "unloading is refused under load" unloading_is_refused
	each check "rxe is deleted and made anew" renew_rxe
	sleep 2
	each check "address goes away and comes back" renew_address
}

# --- all ----------------------------------------------------------------------

rounds()
{
	local i
	for ((i = 0; i < ${ROUNDS:-1}; i++)); do
		"$@"
	done
}

watch_connections
check "addresses and a slow link" slow_link
duels
[ "$ROLE" = b ] || check "requests met" they_met
weather clear
record_during "-o -s" "$MY_ADDR6 $PEER_ADDR6" rounds storm
check "connections broke and messages were sent again" connections_broke
record_during "-o -s -k" "$MY_ADDR $PEER_ADDR" rounds changes
save_connections

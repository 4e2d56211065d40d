# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Functions for guest scripts; qemu/README.md describes them. Results and requests go to the host as lines of
# tab-separated words through file descriptor 9, a virtio-serial port.

rig_clean() { printf '%s' "$*" | tr '\t\n\r' '   '; }

# One write per line, so that results of processes side by side do not mix.
rig_send()
{
	local line word
	line=$1
	shift
	for word; do
		line+=$'\t'$(rig_clean "$word")
	done
	printf '%s\n' "$line" >&9
}

# rig_ask WORDS...: send a request and print the host's answer; 1 when the host says that it can't be had.
rig_ask()
{
	local status text
	rig_send "$@"
	IFS=$'\t' read -r status text <&9 || return 1
	printf '%s\n' "$text"
	[ "$status" = ok ]
}

begin()
{
	echo "rig: test: $*" >/dev/kmsg
	rig_send begin "$*"
}

pass() { rig_send pass "$1"; }
fail() { rig_send fail "$1" "${2:-no reason given}"; }
skip() { rig_send skip "$1" "${2:-no reason given}"; }

check()
{
	local name=$1 log rc
	shift
	begin "$name"
	log=$(mktemp)
	"$@" >"$log" 2>&1
	rc=$?
	echo "# $name: $*"
	cat "$log"
	if [ $rc = 0 ]; then
		pass "$name"
	else
		fail "$name" "exit code $rc: $(grep -v '^[[:space:]]*$' "$log" | tail -n 1)"
	fi
	rm -f "$log"
	return $rc
}

run_tap() { /usr/bin/python3 /rds/qemu/tap.py "$@"; }

wait_for()
{
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

sync_point() { rig_ask sync "$1" >/dev/null; }
put() { rig_send put "$1" "$2"; }
get() { rig_ask get "$1"; }
peer_kill() { rig_ask peer kill >/dev/null; }
link_down() { rig_ask link down >/dev/null; }
link_up() { rig_ask link up >/dev/null; }
peer_reboot() { rig_ask peer reboot >/dev/null; }

run_as()
{
	local user=$1
	shift
	setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups --inh-caps=-all -- "$@"
}

save()
{
	local name=${2:-${1##*/}} chunk
	rig_send save "$name"
	base64 -w 3000 "$1" | while read -r chunk; do
		rig_send data "$name" "$chunk"
	done
}

setup_rxe()
{
	modprobe -a crc32_generic rdma_rxe rdma_ucm ib_uverbs || return
	rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev eth0 || return
	wait_for 60 rxe_active
}

rxe_active() { rdma link show rxe0/1 2>/dev/null | grep -q 'state ACTIVE'; }

drop_rxe() { rdma link delete rxe0; }

# The module is not below /lib/modules, so what it depends on is loaded by name first.
load_rds()
{
	local module=/rds/kernel/rds_sockets.ko depends
	case $1 in
	ours)
		depends=$(modinfo -F depends "$module" | tr ',' ' ')
		# shellcheck disable=SC2086
		[ -z "$depends" ] || modprobe -a $depends || return
		insmod "$module" ;;
	stock)
		modprobe -a rds rds_rdma ;;
	none) ;;
	*)
		echo "load_rds: which module is '$1'?"
		return 1 ;;
	esac
}

unload_rds()
{
	case $1 in
	ours) rmmod rds_sockets ;;
	stock) modprobe -r rds_rdma rds ;;
	esac
}

rds_unused() { [ "$(cat /sys/module/rds_sockets/refcnt 2>/dev/null || echo 0)" = 0 ]; }

rig_unload()
{
	[ -d /sys/module/rds_sockets ] || return 0
	begin unload
	grep '\[rds_sockets\]' /proc/kallsyms >>/run/rig.symbols
	wait_for 60 rds_unused
	if rmmod rds_sockets; then
		pass unload
	else
		fail unload "rmmod refused: $(cat /sys/module/rds_sockets/refcnt) references after 60 s"
		ps -o pid,args
	fi
}

# Only a debug kernel can tell.
rig_leaks() { [ ! -e /sys/kernel/debug/kmemleak ] || check leaks /usr/bin/python3 /rds/qemu/leaks.py /run/rig.symbols; }

# Line counts of a module made for that. Those of a module that is gone are kept by the kernel.
rig_coverage()
{
	local counts=/sys/kernel/debug/gcov file
	[ -d "$counts" ] || return 0
	cd "$counts" || return
	find . -name '*.gcda' | while read -r file; do
		mkdir -p "/tmp/gcov/${file%/*}"
		cat "$file" >"/tmp/gcov/$file" # a copy by size would be empty
	done
	[ -d /tmp/gcov ] || return 0
	tar -czf /tmp/gcov.tgz -C /tmp/gcov . && save /tmp/gcov.tgz
}

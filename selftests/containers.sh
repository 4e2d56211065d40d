#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# containers.sh setup | up a|b | down a|b | end a|b | clear a|b | away a | back a | remove
#
# Two network namespaces, ca (10.8.1.1) and cb (10.8.1.2), that reach each other over the two ends of one veth pair, with a
# soft-RoCE device on each end.
#
# The soft-RoCE of Linux 6.1 and 6.12 knows the initial namespace only: there it takes packets from, and looks up routes.
# So the pair's ends stay there, with the containers' addresses, and each container has a macvlan device on its end. The
# core tells namespaces apart by the macvlan device that an address is on. Whatever the connection manager and we do
# happens in the container; packets take the pair, by way of the initial namespace. With EXCLUSIVE set, each device belongs to
# its container (rxe_owner/rxe_owner.c); else all namespaces share both. That asks for three things:
#
# - A route is looked up in the initial namespace by the number that the container's interface has in the container. So
#   there is an interface of the same number, on the same end, that leads to the other container.
# - A device has each address twice, of the container's interface and of its own; requests to connect go to the one that
#   came first. So the container's is added first.
# - The initial namespace takes packets from what are addresses of its own.
set -eu

declare -A addr=([a]=10.8.1.1 [b]=10.8.1.2) other=([a]=b [b]=a) number=([a]=101 [b]=102)
wait_tenths=600

wait_until()
{
	local left=$wait_tenths
	until "$@"; do
		[ $((left -= 1)) -gt 0 ] || {
			echo "containers.sh: waited in vain for $*" >&2
			return 1
		}
		sleep 0.1
	done
}

# has_gids NAME NUMBER: the device knows of the container's address on so many interfaces
has_gids()
{
	local hex
	# shellcheck disable=SC2086
	hex=$(printf '%02x%02x:%02x%02x' ${addr[$1]//./ })
	[ "$(ip netns exec "c$1" sh -c "cat /sys/class/infiniband/rxe-$1/ports/1/gids/*" 2>/dev/null | grep -c "ffff:$hex")" = "$2" ]
}

setup()
{
	local n
	ip netns attach home 1
	ip link add end-a mtu 4500 type veth peer name end-b mtu 4500
	for n in a b; do
		sysctl -qw net.ipv4.conf.end-$n.rp_filter=0 net.ipv4.conf.end-$n.accept_local=1
		ip link set end-$n up
		# part of the way, see below, also while the end has no address
		ip addr add "${addr[$n]}/32" dev lo
	done
}

remove()
{
	ip link del end-a
	ip addr del "${addr[a]}/32" dev lo
	ip addr del "${addr[b]}/32" dev lo
	ip netns del home
}

device()
{
	local n=$1 fd
	ip -4 addr flush dev "end-$n"
	if [ "${EXCLUSIVE:-}" ]; then
		exec {fd}<"/run/netns/c$n"
		echo "$fd" >/sys/module/rxe_owner/parameters/owner
	fi
	rdma link add "rxe-$n" type rxe netdev "end-$n"
	wait_until has_gids "$n" 1
	ip addr add "${addr[$n]}/24" dev "end-$n"
	wait_until has_gids "$n" 2
}

# The initial namespace's way from one to the other. Before the device comes, and while it has an address: one that cannot
# send what its management queue pair is to send never takes anything for that again, and the other container may ask to
# connect at any time.
way()
{
	local n=$1 m=${other[$1]}
	ip link add link "end-$n" index "${number[$n]}" name "via-$n" type macvlan mode bridge
	ip link set "via-$n" up
	ip route add "${addr[$m]}/32" dev "via-$n"
	ip neigh replace "${addr[$m]}" dev "via-$n" lladdr "$(cat "/sys/class/net/end-$m/address")"
}

up()
{
	local n=$1
	ip netns add "c$n"
	ip -n "c$n" link set lo up
	# goes when the namespace does
	ip link add "sign-$n" type veth peer name sign netns "c$n"
	ip link add link "end-$n" index "${number[$n]}" name rds0 netns "c$n" type macvlan mode bridge
	ip -n "c$n" addr add "${addr[$n]}/24" dev rds0
	ip -n "c$n" link set rds0 up
	way "$n"
	device "$n"
}

gone() { [ ! -e "/sys/class/net/sign-$1" ]; }

# What uses it must have ended.
end()
{
	ip netns del "c$1"
	wait_until gone "$1"
}

down()
{
	end "$1"
	clear "$1"
}

# What a container that has ended leaves.
clear()
{
	# back from the container, or never away
	wait_until rdma link delete "rxe-$1"
	# the last words of connections have taken this way
	ip link del "via-$1"
}

# The device is taken from the container; the container gets one again.
away() { ip netns exec "c$1" rdma dev set "rxe-$1" netns home; }

back()
{
	rdma link delete "rxe-$1"
	device "$1"
}

"$@"

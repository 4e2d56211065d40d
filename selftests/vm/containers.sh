# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two containers speak RDS over RDMA to each other: once each with a device of its own, once with devices that all namespaces
# share. selftests/containers.sh says how that is done on soft-RoCE.
#
# modules: none
# timeout: 300
cd /rds || exit

containers() { bash selftests/containers.sh "$@"; }

both_up() { containers setup && containers up a && containers up b; }

both_down() { containers down a && containers down b && containers remove; }

# the devices' owner is asked for when they come: in this order
each_its_own()
{
	modprobe ib_core && insmod kernel/rxe_owner.ko && rdma system set netns exclusive && load_rds ours && both_up
}

share_again() { both_down && rmmod rxe_owner && rdma system set netns shared && load_rds ours; }

modprobe -a veth macvlan rdma_rxe
export EXCLUSIVE=1
check "each container has a device of its own" each_its_own
run_tap selftests/containers
# within the second that connections outlive their sockets
check "the module goes before the containers do" unload_rds ours
check "all share the devices again" share_again
unset EXCLUSIVE
check "two containers share the devices" both_up
run_tap selftests/containers
check "nothing is left of them" both_down

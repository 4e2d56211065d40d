# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# D04: IPv6 is built in and switched off. Looking an IPv6 address up among the interfaces' would then follow a null
# pointer in the kernel's own tables.
#
# append: ipv6.disable=1
run_tap selftests/no_ipv6

listeners() { rdma resource show cm_id | grep LISTEN; }

listens_on_ipv4_alone()
{
	listeners
	listeners | grep -q ':18634' && ! listeners | grep -q ':16385'
}

check "D04 requests are taken over IPv4 alone" listens_on_ipv4_alone

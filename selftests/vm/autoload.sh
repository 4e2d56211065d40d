# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# D75: nothing that a user does loads the module, and an administrator can forbid it as any other.
#
# modules: none
# alone: leaves the module where it can be loaded by its name
. /rds/selftests/lib.sh

# What an unprivileged user gets who asks for the family: an errno, or what CODE says of the socket s.
as_user()
{
	run_as nobody python3 -c '
import errno, socket, sys
try:
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    exec(sys.argv[1])
except OSError as e:
    print(errno.errorcode[e.errno])' "${1:-print(s.family)}"
}

rds_modules() { lsmod | grep '^rds'; }
all_modules() { lsmod | awk 'NR > 1 { print $1 }' | sort; }

no_family()
{
	[ "$(as_user)" = EAFNOSUPPORT ] && ! rds_modules
}

# Where depmod finds it, as after "make install".
install_module()
{
	mkdir -p "/lib/modules/$(uname -r)/extra"
	cp /rds/kernel/rds_sockets.ko "/lib/modules/$(uname -r)/extra/"
	depmod
	modinfo rds_sockets >/dev/null
}

no_alias()
{
	local aliases
	aliases=$(modinfo -F alias rds_sockets)
	echo "aliases: $aliases"
	[ -z "$aliases" ]
}

user_cannot_load()
{
	run_as nobody modprobe rds_sockets && return 1
	no_family
}

# deny LINE OPTIONS...: with LINE in the configuration, modprobe does not load it
deny()
{
	echo "$1" >/etc/modprobe.d/deny.conf
	shift
	modprobe "$@" rds_sockets
	rm /etc/modprobe.d/deny.conf
	! module_loaded
}

# Binding and choosing a transport load nothing more.
loads_no_more()
{
	all_modules >/tmp/before
	as_user 's.bind(("127.0.0.1", 0)); print("bound")' || return
	as_user "s.bind(('$MY_ADDR', 0)); print('bound')" || return
	for transport in 0 1 2 3; do
		as_user "s.setsockopt(276, 8, $transport); print('set')" || return
	done
	all_modules >/tmp/after
	diff /tmp/before /tmp/after
}

check "abi1, D75: no module, no family" no_family
check "the module is installed" install_module
check "D75 no alias leads to it" no_alias
check "D75 an installed module is not loaded by the family" no_family
check "D75 a user cannot load it" user_cannot_load
mkdir -p /etc/modprobe.d
check "D75 'install' forbids it" deny "install rds_sockets /bin/false"
check "D75 'blacklist' forbids it to whoever asks by alias" deny "blacklist rds_sockets" -b
check "D75 the administrator loads it" modprobe rds_sockets
check "D75 a user may use it then" test "$(as_user)" = 21
check "D75 no call loads another module" loads_no_more
check "it unloads" rmmod rds_sockets
check "D75 and is not loaded again" no_family
true

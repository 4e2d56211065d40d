# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Without a module, and with Debian's own, which registers no memory before a connection: a sentence, not a riddle.
# kernels: stock
# alone: loads the stock module
# modules: none
says()
{
	local code=$1 sentence=$2 out
	shift 2
	out=$("$@" 2>&1)
	[ $? = "$code" ] && echo "$out" | grep -q "$sentence" && [ ! -e /tmp/x ] && return
	echo "$out"
	return 1
}

check "rds-get without a module" says 1 "module is not loaded" rds-get -o /tmp/x 127.0.0.1:x
check "rds-serve without a module" says 1 "module is not loaded" rds-serve -a 127.0.0.1 /tmp
load_rds stock
echo content >/tmp/file
rds-serve -a "$MY_ADDR" /tmp >/tmp/log 2>&1 &
server=$!
wait_for 20 grep -q serving /tmp/log
check "rds-get with Debian's module" says 1 "cannot register memory.*Debian's own rds module" \
	rds-get -I "$PEER_ADDR" -o /tmp/x "$MY_ADDR:file"
kill "$server"
wait "$server"
unload_rds stock
true

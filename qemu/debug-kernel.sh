#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# debug-kernel.sh [FOLDER [VARIABLE=VALUE...]]
#
# Builds the debug kernel (qemu/kernel.config and qemu/debug.config on top of allnoconfig) from Debian's linux-source
# package, once: it is kept in the cache, named after the package's version and the two files. Then builds our module
# against it, in a folder below build (default: debug), which leaves the module for the stock kernel alone, and there the
# module with planted bugs that tests the detectors. Variables go to the modules' make.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
env=$top/tools/kernel-env
dest=$("$env" debug)
# An interrupted build goes on here the next time.
work=$("$env" cache)/debug-work/${dest##*/}
jobs=$(nproc)

say() { echo "debug-kernel: $*"; }
die() { echo "debug-kernel: $*" >&2; exit 1; }

# Drivers that are not configured are most of the source; their Kconfig files must stay.
extract()
{
	local series tarball
	[ ! -e "$work/extracted" ] || return 0
	series=$("$env" series)
	tarball=/usr/src/linux-source-$series.tar.xz
	[ -f "$tarball" ] || die "linux-source-$series is not installed; run 'tools/setup debug' as root"
	say "unpacking $tarball"
	rm -rf "$work/build"
	mkdir -p "$work/build"
	tar -C "$work/build" --strip-components=1 -xf "$tarball" --wildcards --exclude='*/Documentation/*/*' \
		--exclude='*/drivers/gpu/drm/*.[ch]' --exclude='*/sound/*.[ch]' --exclude='*/arch/*.dts*'
	touch "$work/extracted"
}

# allnoconfig drops in silence what it cannot set: a detector that is missing would pass every test.
configure()
{
	local line bad=
	cat "$here/kernel.config" "$here/debug.config" >"$work/fragment"
	[ -e "$work/build/.config" ] || make -s -C "$work/build" KCONFIG_ALLCONFIG="$work/fragment" allnoconfig
	while read -r line; do
		grep -qxF -e "$line" -e "# ${line%=n} is not set" "$work/build/.config" || bad+=" $line"
	done < <(grep '^CONFIG_' "$work/fragment")
	[ -z "$bad" ] || die "this kernel does not take$bad"
}

# QEMU enters vmlinux by PVH, whose code runs before KASAN's shadow memory is there, and so does memcmp() for it.
unshadowed=(KASAN_SANITIZE_enlighten.o=n KASAN_SANITIZE_string.o=n)

build()
{
	say "building (10 minutes on two idle cores)"
	make -s -C "$work/build" -j"$jobs" KBUILD_BUILD_USER=rds KBUILD_BUILD_HOST=rds "${unshadowed[@]}" vmlinux modules
	make -s -C "$work/build" INSTALL_MOD_PATH="$work/kernel" INSTALL_MOD_STRIP=1 modules_install
	rm -f "$work"/kernel/lib/modules/*/{build,source}
	strip --strip-debug -o "$work/kernel/vmlinux" "$work/build/vmlinux"
}

# What building a module needs is kept: headers, Makefiles, the programs in scripts/ and objtool.
prune()
{
	(
		cd "$work/build"
		rm -rf Documentation samples sound vmlinux* .tmp_vmlinux*
		find arch -mindepth 1 -maxdepth 1 -type d ! -name x86 -exec rm -rf {} +
		find . -path ./scripts -prune -o -path ./tools/objtool/objtool -prune -o -path ./include -prune -o \
			-type f \( -name '*.c' -o -name '*.o' -o -name '*.a' -o -name '*.S' -o -name '.*.cmd' -o -name '*.ko' \
			-o -name '*.mod*' \) ! -name Module.symvers ! -name modules.order -exec rm -f {} +
		rm -rf drivers/gpu drivers/net drivers/media drivers/staging
	)
}

kernel()
{
	[ ! -d "$dest" ] || return 0
	mkdir -p "$work" "$(dirname "$dest")"
	exec 8>"$work.lock"
	flock 8
	[ ! -d "$dest" ] || return 0
	extract
	configure
	build
	prune
	mv "$work/build" "$work/kernel/build"
	mv "$work/kernel" "$dest"
	rm -rf "$work"
	exec 8>&-
	say "the kernel is in $dest"
}

# copy_sources FOLDER...: a file is replaced only if it differs, and then is newer than what was made of it: only what has
# changed since the last call is compiled again. Debugging information stays on this side: addr2line finds the line of a
# splat with it.
copy_sources()
{
	local file
	while read -r file; do
		cmp -s "$top/$file" "$copy/$file" || install -D -m 644 "$top/$file" "$copy/$file"
	done < <(cd "$top" && find "$@" -type f \( -name '*.[ch]' -o -name Kbuild \) ! -name '*.mod.c')
}

make_module() { make -s -C "$dest/build" M="$copy/$1" -j"$jobs" KCFLAGS=-g "${@:2}" modules; }

kernel
copy=$top/build/${1:-debug}
copy_sources kernel uapi qemu/test/planted selftests/rxe_owner
make_module kernel "${@:2}"
make_module qemu/test/planted
make_module selftests/rxe_owner

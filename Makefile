# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Reliable datagram sockets: kernel module, library, tools, tests. "make help" lists the targets.

kernel-env := $(CURDIR)/tools/kernel-env

# Headers to build the module against; the running kernel may be a foreign one, so the installed package is asked.
KDIR ?= $(shell $(kernel-env) kdir)
KSELFTEST_DIR ?= $(shell $(kernel-env) kselftest)
prefix ?= /usr/local
build := build

# Areas that exist in this checkout; each has its own Makefile with all, check, install and clean.
lib-dir := $(patsubst %/Makefile,%,$(wildcard userlib/Makefile))
tools-dir := $(patsubst %/Makefile,%,$(wildcard tools/Makefile))
selftests-dir := $(patsubst %/Makefile,%,$(wildcard selftests/Makefile))

all: module lib tools selftests

help:
	@echo 'Building'
	@echo '  make                    module, library, tools, tests'
	@echo '  make setup              install the Debian packages that building and testing need (as root)'
	@echo '  make module             kernel/rds_sockets.ko; KDIR=DIR for other kernel headers'
	@echo '  make module-backports   compile it, apart, against the kernel headers of Debian backports'
	@echo '  make W1                 compile it, apart, with W=1 and sparse; any warning fails'
	@echo '  make lib                userlib/: librds, Python package, examples'
	@echo '  make tools              rds-get, rds-serve'
	@echo '  make selftests          kernel selftests'
	@echo '  make install            library, tools, manual pages, module; DESTDIR=, prefix= ($(prefix))'
	@echo '  make clean'
	@echo 'Running (in virtual machines; nothing is loaded into this kernel)'
	@echo '  make demo               two VMs on soft-RoCE, a file fetched by RDMA, and what happened'
	@echo '  make vm                 a shell in a VM with everything loaded'
	@echo '  make check              every test, or TESTS="PATTERN..."; logs in build/check'
	@echo '  make unit               only the tests that need no kernel'
	@echo '  make fuzz               libFuzzer on the pure files, SECONDS=60 for each target; new inputs stay in build/kernel-tests'
	@echo '  make debug-kernel       build (once) a kernel that finds bugs, and the module for it: then qemu/run.sh --debug TEST'
	@echo '  make coverage           which lines of kernel/ the tests on that kernel run; report in build/coverage; TESTS= as above'
	@echo '  make soak               long runs with random seeds on that kernel for one hour, or HOURS= or MINUTES=; TESTS= as above'
	@echo
	@echo 'One test: qemu/run.sh TEST; see qemu/README.md'

setup:
	tools/setup

module:
	$(MAKE) -C kernel KDIR='$(KDIR)'

lib:
	$(if $(lib-dir),$(MAKE) -C $(lib-dir))

tools: lib
	$(if $(tools-dir),$(MAKE) -C $(tools-dir))

selftests: lib
	$(if $(selftests-dir),$(MAKE) -C $(selftests-dir) KSELFTEST_DIR='$(KSELFTEST_DIR)' KDIR='$(KDIR)')

unit: lib
	qemu/check.sh unit

SECONDS ?= 60

fuzz:
	@tools/setup fuzz >&2
	@$(MAKE) -s --no-print-directory -C kernel/tests fuzz SECONDS=$(SECONDS)

# Compile checks work on a copy, so that the objects of the real build stay.
copy-to = rm -rf $(1) && mkdir -p $(1) && tar -cf - --exclude='*.o' --exclude='*.ko' --exclude='*.mod*' \
	--exclude='*.cmd' --exclude=Module.symvers kernel uapi | tar -C $(1) -xf -

W1:
	$(call copy-to,$(build)/w1)
	qemu/no-warnings.sh $(MAKE) -C $(build)/w1/kernel KDIR='$(KDIR)' W=1 C=1

module-backports:
	tools/setup backports
	$(call copy-to,$(build)/backports)
	qemu/no-warnings.sh $(MAKE) -C $(build)/backports/kernel KDIR="$$($(kernel-env) backports)"

check:
	qemu/check.sh $(TESTS)

coverage:
	qemu/coverage.sh $(TESTS)

soak:
	qemu/soak.sh $(or $(MINUTES),$$((60 * $(or $(HOURS),1)))) $(TESTS)

demo:
	qemu/demo.sh

debug-kernel:
	tools/setup build rig debug
	qemu/debug-kernel.sh

vm:
	tools/setup build rig
	$(MAKE) all
	qemu/run.sh --shell

install: all
	$(if $(lib-dir),$(MAKE) -C $(lib-dir) install DESTDIR='$(DESTDIR)' prefix='$(prefix)')
	$(if $(tools-dir),$(MAKE) -C $(tools-dir) install DESTDIR='$(DESTDIR)' prefix='$(prefix)')
	$(MAKE) -C kernel install KDIR='$(KDIR)' DESTDIR='$(DESTDIR)'

clean:
	$(MAKE) -C kernel clean KDIR='$(KDIR)'
	$(foreach dir,$(lib-dir) $(tools-dir) $(selftests-dir),$(MAKE) -C $(dir) clean &&) true
	rm -rf $(build)

.PHONY: all help setup module lib tools selftests unit fuzz W1 module-backports check coverage soak demo debug-kernel vm install clean

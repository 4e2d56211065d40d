#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Boots one VM or two and runs guest scripts in them; see qemu/README.md, or --help.
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$(dirname "$0")/vmrun.py" "$@"

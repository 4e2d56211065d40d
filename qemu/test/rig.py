#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""rig.py [--debug]: tests of the rig itself, in TAP: guest scripts that must be found to have failed, and why.

With --debug: that the debug kernel finds one bug of each kind (qemu/test/planted), and that such a test fails.
"""

import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

QEMU = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUN = os.path.join(QEMU, "run.sh")
sys.path.insert(0, QEMU)
import machine  # noqa: E402
from vmrun import SOME_FAILED  # noqa: E402

LAST_WORDS = 30  # lines of a console that a failed case shows

# Name, guest scripts, options, patterns that the report must show.
CASES = [
    ("a_panic_is_attributed_to_the_test", ["begin deadly; echo c >/proc/sysrq-trigger; sleep 60"], [],
     [r"^FAIL .*the VM ended by itself in test 'deadly'.*console: .*sysrq"]),
    ("a_hang_is_ended", ["pass before; begin slow; sleep 1000"], ["--timeout", "15"],
     [r"^ok .*before", r"^FAIL .*time is up: the script did not end in test 'slow'"]),
    ("a_splat_fails_a_passing_script", ["begin noisy; echo 'WARNING: CPU: 0 PID: 1 at nowhere' >/dev/kmsg; pass quiet"], [],
     [r"^ok .*quiet", r"^FAIL .*kernel log .*WARNING.*during noisy"]),
    ("a_script_without_results_fails", ["true"], [], [r"^FAIL .*reported no result"]),
    ("a_skip_an_exit_code_and_a_broken_plan_fail",
     ["skip odd because; check wrong false; run_tap echo 1..2; run_tap false; pass good; exit 3"], [],
     [r"^FAIL .*odd.*allowed-skips", r"^FAIL .*wrong.*exit code 1", r"^FAIL .*echo.*planned 2 tests and reported 0",
      r"^FAIL .*false.*no plan", r"^ok .*good", r"^FAIL .*exit code 3"]),
    ("the_death_of_one_of_two_is_its_own", ["sync_point start; get never", "sync_point start; begin last; echo c >/proc/sysrq-trigger; sleep 60"],
     [], [r"^FAIL .*/b: verdict .*ended by itself in test 'last'"]),
    ("a_killed_peer_comes_back", ["sync_point start; check reboot peer_reboot; check boot [ $(get boot) = 2 ]",
                                  "if [ $BOOT = 2 ]; then put boot 2; exit; fi; sync_point start; get never"],
     [], [r"^ok .*/a: reboot", r"^ok .*/a: boot", r"^2 passed, 0 failed"]),
]


# On the debug kernel, with planted.ko.
DEBUG_CASES = [
    ("a_report_of_kasan_ends_the_test", ["begin bad; insmod kernel/planted.ko bug=use_after_free; sleep 60"], [],
     [r"^FAIL .*the VM ended by itself in test 'bad'.*console: .*KASAN: .*use-after-free"]),
]
DEBUG_OPTIONS = ["--debug", "--module", os.path.join(os.path.dirname(QEMU), "build/debug/qemu/test/planted")]

# All in one VM: what the console must show of each. Lockdep ends with its first report, with any of KASAN's, and when the
# count of locks held is wrong, as it is after a sleep; a module that never finishes loading is the last one. What was
# dropped is looked for after the script.
PLANTED = {
    "locks_in_both_orders": r"possible circular locking dependency",
    "sleep_under_spinlock": r"BUG: scheduling while atomic",
    "put_too_many": r"refcount_t:",
    "freed_while_active": r"ODEBUG: free active",
    "use_after_free": r"KASAN: .*use-after-free",
    "missing_length_check": r"KASAN: slab-out-of-bounds",
    "double_free": r"KASAN: double-free",
    "lost_wakeup": r"blocked for more than",
    "leaks": r"kmemleak: 1 new suspected",
}
PLANT = f"""
echo 0 >/proc/sys/kernel/panic_on_warn
echo 5 >/proc/sys/kernel/hung_task_timeout_secs
plant() {{ insmod kernel/planted.ko bug=$1 && rmmod planted; }}
hangs() {{ dmesg | grep -q 'blocked for more'; }}
for bug in dropped_put {' '.join(list(PLANTED)[:-2])}; do
	check $bug plant $bug
done
begin lost_wakeup
insmod kernel/planted.ko bug=lost_wakeup &
wait_for 100 hangs
true
"""


def run(folder, name, scripts, options):
    paths = []
    for role, text in zip("ab", scripts):
        paths.append(os.path.join(folder, f"{name}-{role}.sh"))
        with open(paths[-1], "w") as out:
            out.write(text.replace("; ", "\n") + "\n")
    modules = ",".join(["none"] * len(scripts))
    done = subprocess.run([RUN, "--name", name, "--modules", modules, "--results", folder, *options, *paths],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def last_words(folder):
    """The ends of the consoles, which go with the folder."""
    words = []
    for path in sorted(glob.glob(os.path.join(folder, "?.console"))):
        with open(path, errors="replace") as console:
            words += [f"{os.path.basename(path)}:", *collections.deque(console, maxlen=LAST_WORDS)]
    return "\n".join(line.rstrip("\r\n") for line in words)


def run_case(folder, name, scripts, options, patterns):
    """Returns why the case failed; nothing if it did not."""
    code, report = run(folder, name, scripts, options)
    missing = [p for p in patterns if not re.search(p, report, re.M)]
    expected_code = 0 if any("0 failed" in p for p in patterns) else SOME_FAILED
    if not missing and code == expected_code:
        return ""
    return f"{report}exit code {code}, not found: {missing}\n{last_words(os.path.join(folder, name))}"


def run_planted(folder):
    """Yields (name, why it failed) for each planted bug, and one for the rig's verdict."""
    _, report = run(folder, "planted", [PLANT], [*DEBUG_OPTIONS, "--append", "kasan_multi_shot"])
    found = collections.defaultdict(list)
    for test, line in machine.splats(os.path.join(folder, "planted/a.console")):
        found[test].append(line)
    for bug, pattern in PLANTED.items():
        seen = re.search(pattern, "\n".join(found[bug]))
        yield f"the_debug_kernel_finds_{bug}", "" if seen else f"{report}the console shows {found[bug]}"
    judged = re.search("^FAIL .*leaks", report, re.M) and re.search("^FAIL .*kernel log", report, re.M)
    yield "the_run_fails_for_them", "" if judged else report


def outcomes(folder, debug):
    """Yields (name, why it failed)."""
    for name, scripts, options, patterns in DEBUG_CASES if debug else CASES:
        yield name, run_case(folder, name, scripts, options + (DEBUG_OPTIONS if debug else []), patterns)
    if debug:
        yield from run_planted(folder)


def main(debug):
    number = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, reason in outcomes(folder, debug):
            number += 1
            bad += bool(reason)
            print("".join(f"# {line}\n" for line in reason.splitlines()), end="")
            print(f"{'not ok' if reason else 'ok'} {number} - {name}", flush=True)
    print(f"1..{number}")
    return 1 if bad else 0


sys.exit(main(sys.argv[1:] == ["--debug"]))

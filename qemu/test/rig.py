#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests of the rig itself, in TAP: guest scripts that must be found to have failed, and why."""

import os
import re
import subprocess
import sys
import tempfile

RUN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run.sh")

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


def main():
    print(f"1..{len(CASES)}")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, scripts, options, patterns) in enumerate(CASES, 1):
            code, report = run(folder, name, scripts, options)
            missing = [p for p in patterns if not re.search(p, report, re.M)]
            expected_code = 0 if any("0 failed" in p for p in patterns) else 1
            good = not missing and code == expected_code
            bad += not good
            if not good:
                print("".join(f"# {line}\n" for line in report.splitlines()), end="")
                print(f"# exit code {code}, not found: {missing}")
            print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
    return 1 if bad else 0


sys.exit(main())

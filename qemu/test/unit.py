#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Tests, in TAP, of what the rig decides without a virtual machine: headers, sharing of machines, who waits for whom."""

import contextlib
import io
import os
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import results  # noqa: E402
import session  # noqa: E402
import vmrun  # noqa: E402

HEADER = """# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# modules: ours stock
# modules: stock ours
# timeout: 100
# debug: MESSAGES=20 cpus=1
# soak: timeout=900 MESSAGES=5000
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        open(os.path.join(self.folder, "rds_sockets.ko"), "w").close()

    def file(self, name, text):
        return vmrun.write(self.folder, name, text)


class Headers(Folder):
    def options(self, *arguments):
        sys.argv = ["run.sh", *arguments]
        options = vmrun.arguments()
        options.ours = self.folder
        return options

    def chosen(self, *arguments):
        return vmrun.wanted_tests(self.options(*arguments))

    def pair(self):
        return [self.file("x.sh", HEADER), self.file("y.sh", "# timeout: 7\n")]

    def test_one_run_for_each_combination_of_modules(self):
        self.assertEqual([t.modules for t in self.chosen(*self.pair())], [["ours", "stock"], ["stock", "ours"]])

    def test_the_header_of_a_counts(self):
        self.assertEqual({(t.timeout, t.cpus, t.vms) for t in self.chosen(*self.pair())}, {(100, 1, 2)})

    def test_the_debug_kernel_does_less_and_has_more_time(self):
        test = self.chosen("--debug", *self.pair())[0]
        self.assertEqual((test.variables, test.cpus), ({"MESSAGES": "20"}, 1))
        self.assertEqual(test.timeout, 100 * vmrun.DEBUG_SLOWER)

    def test_a_soak_overrules_the_debug_kernel(self):
        test = self.chosen("--debug", "--soak", *self.pair())[0]
        self.assertEqual(test.variables, {"MESSAGES": "5000"})
        self.assertEqual(test.timeout, 900 * vmrun.DEBUG_SLOWER)

    def test_the_command_line_overrules_all(self):
        test = self.chosen("--soak", "--env", "MESSAGES=1", "--timeout", "5", *self.pair())[0]
        self.assertEqual((test.variables, test.timeout), ({"MESSAGES": "1"}, 5))

    def test_a_word_that_is_no_variable_is_refused(self):
        with self.assertRaises(vmrun.Rig):
            self.chosen("--env", "MESSAGES", *self.pair())

    def test_the_header_ends_with_the_comments(self):
        path = self.file("late.sh", "# cpus: 1\ntrue\n# cpus: 2\n")
        self.assertEqual(self.chosen(path)[0].cpus, 1)

    def test_machines_that_are_alike_are_shared(self):
        names = {"one": "", "two": "# modules: none\n", "big": "# mtu: 1500\n", "lone": "# alone: kills\n",
                 "old": "# modules: stock\n"}
        paths = [f"{name}={self.file(name, text)}" for name, text in names.items()]
        batches = vmrun.batches(self.chosen("--batch", *paths))
        self.assertEqual(sorted([t.name for t in batch] for batch in batches), [["big"], ["lone"], ["old.stock"], ["one", "two.none"]])


class Port:
    """Of a VM: keeps what it is told."""

    def __init__(self):
        self.told = []

    def sendall(self, data):
        self.told.append(data.decode())


class Sessions(Folder):
    def setUp(self):
        super().setUp()
        options = types.SimpleNamespace(vms=2, slower=1)
        tests = [types.SimpleNamespace(name=name, timeout=60) for name in ("first", "second")]
        self.record = results.Results(self.folder, "run", quiet=True)
        self.run_ = session.Run(options, tests, self.folder, self.record, None, self.folder)
        self.a, self.b = self.run_.machines
        for vm in self.a, self.b:
            vm.port = Port()
            vm.waiting = None
        for vm in self.a, self.b:
            self.say(vm, "test", "0")
            self.say(vm, "pass", "something")

    def say(self, vm, *words):
        self.run_.handle(vm, list(words))
        self.run_.settle()

    def end_first(self):
        self.say(self.a, "end", "0")
        self.say(self.b, "end", "0")

    def test_neither_leaves_a_test_alone(self):
        self.say(self.a, "end", "0")
        self.assertEqual(self.a.port.told, [])
        self.say(self.b, "end", "0")
        self.assertEqual((self.a.port.told, self.b.port.told), (["ok\t\n"], ["ok\t\n"]))

    def test_the_end_of_one_test_is_not_that_of_the_next(self):
        self.end_first()
        self.say(self.a, "test", "1")
        self.say(self.a, "sync", "here")
        self.assertEqual(self.a.port.told, ["ok\t\n"])
        self.say(self.b, "test", "1")
        self.say(self.b, "sync", "here")
        self.assertEqual(self.a.port.told, ["ok\t\n"] * 2)

    def test_who_waits_for_one_that_has_ended_is_told(self):
        self.end_first()
        for vm in self.a, self.b:
            self.say(vm, "test", "1")
            self.say(vm, "end" if vm is self.b else "pass", "0")
        self.say(self.a, "get", "value")
        self.assertTrue(self.a.port.told[-1].startswith("gone"))

    def test_one_of_two_must_report_something(self):
        self.say(self.a, "end", "0")
        self.say(self.b, "end", "0")
        self.assertEqual(self.record.count["fail"], 0)
        for vm in self.a, self.b:
            self.say(vm, "test", "1")
        with contextlib.redirect_stdout(io.StringIO()):
            self.say(self.a, "end", "0")
            self.say(self.b, "end", "0")
        self.assertEqual(self.record.count["fail"], 1)

    def test_values_are_those_of_one_test(self):
        self.say(self.a, "put", "key", "old")
        self.end_first()
        self.say(self.a, "test", "1")
        self.say(self.a, "put", "key", "new")
        self.say(self.b, "test", "1")
        self.say(self.b, "get", "key")
        self.assertEqual(self.b.port.told[-1], "ok\tnew\n")

    def test_results_bear_the_name_of_the_machine_s_test(self):
        self.end_first()
        self.say(self.a, "test", "1")
        self.say(self.a, "pass", "later")
        self.say(self.b, "pass", "unload")
        lines = open(os.path.join(self.folder, "results")).read().splitlines()
        self.assertEqual(lines[-2:], ["pass\tsecond/a: later\t", "pass\tfirst/b: unload\t"])

    def test_a_peer_is_not_ended_where_others_need_it(self):
        with self.assertRaises(vmrun.Rig):
            self.say(self.a, "peer", "kill")


class Process:
    """A VM's, which runs for ever."""

    def poll(self):
        return None

    kill = wait = poll


class Boots(Folder):
    """A boot that stands still gets another chance."""

    def setUp(self):
        super().setUp()
        options = types.SimpleNamespace(vms=1, slower=1)
        record = results.Results(self.folder, "run", quiet=True)
        self.run_ = session.Run(options, [], self.folder, record, None, self.folder)
        self.vm = self.run_.machines[0]
        self.started = []
        self.run_.start = lambda vm, again: self.started.append(again)
        self.boot("booting", 1)

    def boot(self, state, tries):
        """It has said nothing for a while longer than it may."""
        self.vm.state, self.vm.tries, self.vm.boot, self.vm.process = state, tries, 1, Process()
        self.vm.console_size = 0
        self.vm.last_heard = time.monotonic() - machine.BOOT_SILENCE_SECONDS - 1
        self.vm.deadline = None

    def watched(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.run_.watch(self.vm)
        return self.started

    def test_one_that_says_nothing_is_started_again(self):
        self.assertEqual(self.watched(), [True])

    def test_one_that_says_something_goes_on(self):
        self.file("a.console", "slow, but there")
        self.assertEqual(self.watched(), [])

    def test_a_test_may_be_silent(self):
        self.boot("running", 1)
        self.assertEqual(self.watched(), [])

    def test_not_for_ever(self):
        self.boot("booting", machine.BOOT_TRIES)
        self.assertEqual(self.watched(), [])


class Consoles(Folder):
    def test_a_splat_is_put_down_to_the_test_before_it(self):
        path = self.file("console", "rig: test: one\n[ 1.0] fine\nrig: test: two\n[ 2.0] BUG: KASAN: bad\n")
        self.assertEqual(list(machine.splats(path)), [("two", "[ 2.0] BUG: KASAN: bad")])


class TapResult(unittest.TestResult):
    def line(self, test, good, text=""):
        print("".join(f"# {line}\n" for line in text.splitlines()), end="")
        print(f"{'ok' if good else 'not ok'} {self.testsRun} - {test.id().removeprefix('__main__.')}")

    def addSuccess(self, test):
        self.line(test, True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.line(test, False, self._exc_info_to_string(error, test))

    addError = addFailure


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}")
    return 1 if suite.run(TapResult()).failures else 0


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
""".ci/run, with a ./dev that only waits: what it has started ends with it, also by a signal; what fails is said."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CI = pathlib.Path(sys.argv.pop(1)) / ".ci" / "run"
PATIENCE = 60  # s
# Waits in the step that is named in $WAITS, as a compiler does in its own process; all others are done at once.
DEV = r"""#!/usr/bin/env bash
if [[ $* == "$WAITS" ]]; then sleep 1000; fi
[[ $* != "$FAILS" ]]
"""


class CiRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)
        for name, text in {".ci/run": CI.read_text(), "dev": DEV, "scripts/ci_summary.py": ""}.items():
            path = self.place / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.addCleanup(self.end_all)

    def start(self, waits="-", fails="-"):
        env = {**os.environ, "PLACE": str(self.place), "WAITS": waits, "FAILS": fails}
        with (self.place / "said").open("w") as said:
            process = subprocess.Popen(["bash", str(self.place / ".ci" / "run")], env=env, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=subprocess.STDOUT)
        self.addCleanup(process.kill)
        return process

    def of_this_test(self):
        mark, found = f"PLACE={self.place}".encode(), {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                pass
        return found

    def end_all(self):
        for pid in self.of_this_test():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait_until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"in vain: {what}; it said: {(self.place / 'said').read_text()}")
            time.sleep(0.02)

    def test_a_signal_ends_the_step_in_front_and_those_beside_it(self):
        for step in ("build release", "lint --changed"):  # in front, beside
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(step=step, signal=number.name):
                    process = self.start(waits=step)
                    waiting = "sleep 1000 "
                    self.wait_until(f"{step} runs", lambda: waiting in self.of_this_test().values())
                    process.send_signal(number)
                    self.assertEqual(process.wait(PATIENCE), 128 + number)
                    self.wait_until("nothing is left", lambda: not self.of_this_test())

    def test_what_is_well_and_what_has_failed(self):
        process = self.start()
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertIn("ci: all is well", (self.place / "said").read_text())
        for step, name in {"build release": "build", "test": "tests", "lint --changed": "lint"}.items():
            with self.subTest(step=step):
                process = self.start(fails=step)
                self.assertEqual(process.wait(PATIENCE), 1)
                self.assertIn(f"ci: FAILED: {name}\n", (self.place / "said").read_text())

    def test_the_ten_slowest(self):
        build, times = self.place / "build", [5, 1, 11, 3, 9, 12, 2, 8, 4, 10, 7, 6]
        build.mkdir()
        # Of an output that was made twice, the newer; what is linked is no object.
        (build / ".ninja_log").write_text("# ninja log v5\n0\t99000\t0\tCMakeFiles/a.dir/12.o\tx\n0\t99000\t0\tbin/a\tx\n" +
                                          "".join(f"1000\t{1000 + 1000 * s}\t0\tCMakeFiles/a.dir/{s}.o\tx\n" for s in times))
        (build / "tests.xml").write_text("<testsuite>" + "".join(f'<testcase name="t{s}" time="{s}" status="run"/>' for s in times) + "</testsuite>")
        (self.place / "cases.log").write_text("".join(f"case c{s} ok {s}\n" for s in times))
        said = subprocess.run([sys.executable, CI.parent.parent / "scripts/ci_summary.py", build, self.place / "cases.log"],
                              text=True, capture_output=True, check=True).stdout
        for what, name in {"objects": "[a] {}.o", "tests": "t{}", "cases": "c{}"}.items():
            lines = said.splitlines()
            at = lines.index(f"ci: the slowest of 12 {what}, 78 s in all:")
            self.assertEqual([line.split("s  ")[1] for line in lines[at + 1:at + 11]], [name.format(s) for s in range(12, 2, -1)])
            self.assertTrue(lines[at + 11].startswith("ci:"), said)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of elastic runs share: runs by `empi run` on emulated pods, and their figures."""
import json
import subprocess
import sys


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def note_decisions(summary, actions=None):
    for decision in summary["decisions"]:
        if actions is None or decision["action"] in actions:
            note(f"  {decision['action']} {decision['reason']}")


class Bench:
    """Runs of one benchmark, each in a folder of its own below `out`."""

    def __init__(self, name, out):
        self.name, self.out = name, out

    def fail(self, run, code):
        log = (self.out / f"{run}.log").read_text()
        sys.exit(f"bench {self.name}: {run} failed with {code}:\n" + log[-3000:])

    def run(self, name, manifest, *arguments):
        """One job from start to end: its summary.json."""
        note(f"running {name}")
        with (self.out / f"{name}.log").open("w") as stream:
            code = subprocess.run(["empi", "run", manifest, "--out", self.out / name, *arguments], stdout=stream,
                                  stderr=subprocess.STDOUT, timeout=1500).returncode
        if code != 0:
            self.fail(name, code)
        return json.loads((self.out / name / "summary.json").read_text())

    def figure(self, name, value, unit):
        print(f"bench {self.name}.{name} {value:.4g} {unit}", flush=True)

    def compare(self, elastic, most):
        """Of an elastic run and one that had all workers from start to end."""
        self.figure("cpu_ratio", elastic["core_seconds"] / most["core_seconds"], "ratio")
        self.figure("time_ratio", elastic["run_time_s"] / most["run_time_s"], "ratio")
        self.figure("changes", len([c for c in elastic["changes"] if c.get("outcome") == "committed"]), "count")
        self.figure("run_time", elastic["run_time_s"], "s")

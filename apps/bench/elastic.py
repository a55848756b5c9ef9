# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of elastic runs share: runs by `empi run` on emulated pods, and their figures."""
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

STUDENT = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776}  # of the 95 % interval of a mean, by the number of values
BOUND = 1500  # s for one run


def note(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def note_decisions(summary, actions=None):
    for decision in summary["decisions"]:
        if actions is None or decision["action"] in actions:
            note(f"  {decision['action']} {decision['reason']}")


def committed(summary):
    """The changes of a run that were made."""
    return [change for change in summary["changes"] if change.get("outcome") == "committed"]


@contextlib.contextmanager
def folder_of(out, name):
    """`out`, made if need be; without it one that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{name}.") as folder:
        out = (out or pathlib.Path(folder)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        yield out


def interval(values):
    """Half the width of the 95 % interval of their mean."""
    return STUDENT.get(len(values), 2.6) * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


class Bench:
    """Runs of one benchmark, each in a folder of its own below `out`."""

    def __init__(self, name, out):
        self.name, self.out = name, out

    def fail(self, run, code):
        log = (self.out / f"{run}.log").read_text()
        sys.exit(f"bench {self.name}: {run} failed with {code}:\n" + log[-3000:])

    def empi_run(self, name, *arguments, end=lambda folder: False):
        """`empi run` with these arguments: the folder it writes. `end` is asked twice a second, and where it has ended the job
        the run need not succeed."""
        folder = self.out / name
        note(f"running {name}")
        with (self.out / f"{name}.log").open("w") as stream:
            job = subprocess.Popen(["empi", "run", *arguments, "--out", folder], stdout=stream, stderr=subprocess.STDOUT)
            start, ended = time.monotonic(), False
            try:
                while job.poll() is None:
                    time.sleep(.5)
                    if time.monotonic() - start > BOUND:
                        self.fail(name, f"no end within {BOUND} s")
                    ended = ended or end(folder)
            finally:
                job.terminate()
                job.wait()
        if job.returncode != 0 and not ended:
            self.fail(name, job.returncode)
        return folder

    def run(self, name, manifest, *arguments):
        """One job from start to end: its summary.json."""
        return json.loads((self.empi_run(name, manifest, *arguments) / "summary.json").read_text())

    def figure(self, name, value, unit):
        print(f"bench {self.name}.{name} {value:.4g} {unit}", flush=True)


class Shared:
    """Some jobs that share workers, by one `empi run`: when each came and ended, as seconds since the first came.

    files: {job: its manifest}."""

    def __init__(self, bench, name, files, workers, stagger, *arguments):
        folder = bench.empi_run(name, *files.values(), "--workers", str(workers), "--stagger", str(stagger), *arguments)
        self.summaries = [json.loads((folder / job / "summary.json").read_text()) for job in files]
        ends = [summary["start_time_s"] + summary["finish_s"] for summary in self.summaries]
        first = min(summary["start_time_s"] for summary in self.summaries)
        self.makespan = max(ends) - first
        self.turnaround = statistics.mean(summary["finish_s"] for summary in self.summaries)
        self.changes = sum(len(committed(summary)) for summary in self.summaries)
        note(f"{name}: {self.makespan:.1f} s, mean turnaround {self.turnaround:.1f} s, {self.changes} changes, ends "
             + ", ".join(f"{job} {end - first:.0f}" for job, end in zip(files, ends)) + f"; load {os.getloadavg()[0]:.1f}")

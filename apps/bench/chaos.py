#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench chaos: Jacobi on local pods whose ranks, agents, pods and links are lost at random while it is resized.

Each job must end with the bits of the undisturbed one, or say that what it had is gone (a pod and the one with its
copies at a time), and begin again. Figures: chaos.kills, chaos.resizes (asked for), chaos.restarts (of jobs, from the
beginning), chaos.hangs (nothing was done for three minutes), chaos.wrong (another result, or no success).

Usage: chaos.py [--minutes N] [--seed S] [--out DIR]      DIR keeps what the jobs wrote; notes name seed and events
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from elastic import Bench, note

ITERATIONS, POINTS = 4000, 256
SMALLEST, LARGEST = 2, 5  # workers, of two ranks each
PACE = 10  # ms of an iteration, at least
BOUND = 180  # s for whatever is waited for, or until the program has iterated again
MANIFEST = """apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {{name: {name}}}
spec:
  slotsPerWorker: {ranks}
  worker:
    replicas: {start}
    minReplicas: {smallest}
    maxReplicas: {largest}
    template:
      spec:
        containers:
          - name: worker
            command: [empi-jacobi]
            args: [--n, "{points}", --iterations, "{iterations}", --tolerance, "0", --pace, "{pace}"]
  runPolicy: {{backoffLimit: 20}}
"""


class Hang(Exception):
    pass


def states():
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.environ["HOME"], ".local/state")
    return pathlib.Path(home) / "elastic-mpi"


class Processes:
    """Of a job's pods, by their environment: {pod: {"agent": pid, "ranks": [pid]}}."""

    def __init__(self, uid):
        self.pods = {}
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                words = dict(w.split("=", 1) for w in (folder / "environ").read_text(errors="replace").split("\0") if "=" in w)
                program = (folder / "cmdline").read_text().split("\0")[0]
                parent = int(re.search(r"\) \S (\d+)", (folder / "stat").read_text())[1])
            except (OSError, TypeError):
                continue  # it has ended meanwhile
            if words.get("EMPI_JOB_UID") != uid:
                continue
            pod = self.pods.setdefault(words.get("EMPI_POD_NAME"), {"ranks": [], "holder": 0, "agent": 0})
            if program.endswith("empi-jacobi"):
                pod["ranks"].append(int(folder.name))
            elif program.endswith("elastic-mpi-sidecar"):
                pod["holder"] = parent  # the pod's first process
            elif program.endswith("elastic-mpi-agent"):
                pod.setdefault("agents", {})[int(folder.name)] = parent
        for pod in self.pods.values():
            pod["agent"] = next((pid for pid, parent in pod.get("agents", {}).items() if parent == pod["holder"]), 0)
        self.pods = {name: pod for name, pod in self.pods.items() if pod["agent"] and pod["ranks"]}


class Job:
    """One run, and what is known of it."""

    def __init__(self, name, out, ranks=2, smallest=SMALLEST, largest=LARGEST, start=3, pace=PACE):
        self.name, self.out, self.log = name, out / name, out / f"{name}.log"
        manifest = out / f"{name}.yaml"
        manifest.write_text(MANIFEST.format(name=name, ranks=ranks, smallest=smallest, largest=largest, start=start, pace=pace,
                                            points=POINTS, iterations=ITERATIONS))
        self.stream = self.log.open("w")
        self.process = subprocess.Popen(["empi", "run", manifest, "--out", out / name], stdout=self.stream, stderr=subprocess.STDOUT,
                                        start_new_session=True)

    def status(self):
        try:
            return json.loads((states() / self.name / "status.json").read_text())
        except (OSError, ValueError):
            return {}

    def uid(self):
        for line in (states() / self.name / "spec.yaml").read_text().splitlines():
            if line.strip().startswith("uid:"):
                return line.split(":", 1)[1].strip().strip("\"'")
        return None

    def iterations(self):
        try:
            lines = (self.out / "windows.jsonl").read_text().splitlines()
        except OSError:
            return 0
        return sum(json.loads(line)["iterations"] for line in lines if line.endswith("}"))

    def over(self):
        return self.process.poll() is not None

    def steady(self, beyond=None):
        """It runs at the size that it is to have, in an epoch beyond that one."""
        status = self.status()
        return (status.get("state") == "Running" and status.get("joinedReplicas") == status.get("desiredReplicas")
                and not status.get("resize", {}).get("id") and (beyond is None or (status.get("restarts", 0), status.get("epoch", 0)) > beyond))

    def wait(self, what, done):
        end = time.monotonic() + BOUND
        known = self.iterations()
        while not done() and not self.over():
            if time.monotonic() > end and known < self.iterations():
                known, end = self.iterations(), time.monotonic() + BOUND
            if time.monotonic() > end:
                raise Hang(f"{self.name}: not within {BOUND} s: {what}; {json.dumps(self.status().get('conditions'))}")
            time.sleep(.1)

    def end(self):
        if not self.over():
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.stream.close()

    def fingerprint(self):
        found = re.findall(r"fingerprint ([0-9a-f]{16})", self.log.read_text())
        return found[-1] if found else None


class Chaos:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kills, self.resizes, self.events = {}, 0, []

    def resize(self, job):
        size = self.random.randint(SMALLEST, LARGEST)
        done = subprocess.run(["empi", "scale", job.name, str(size)], capture_output=True, text=True)
        if done.returncode == 0:
            self.resizes += 1
            self.events.append(f"scale {size}")

    def lose(self, job):
        pods = Processes(job.uid()).pods
        if len(pods) < 2:
            return
        name = self.random.choice(sorted(pods))
        pod, kind = pods[name], self.random.choice(["rank", "rank", "agent", "pod", "link"])
        lead = name == job.status().get("leadPod")
        try:
            if kind == "rank":
                os.kill(self.random.choice(pod["ranks"]), signal.SIGKILL)
            elif kind == "link":
                subprocess.run(["nsenter", "--net", "--target", str(pod["agent"]), "ip", "link", "set", "eth0", "down"], check=True)
            else:
                os.kill(pod["agent" if kind == "agent" else "holder"], signal.SIGKILL)
        except (ProcessLookupError, subprocess.CalledProcessError):
            return  # it has gone by itself meanwhile: it was a leaver
        self.kills[kind] = self.kills.get(kind, 0) + 1
        if lead:
            self.kills["lead"] = self.kills.get("lead", 0) + 1
        self.events.append(f"{kind} of {name}{' (lead)' if lead else ''}")

    def disturb(self, job, until):
        job.wait("it runs", job.steady)
        while not job.over() and time.monotonic() < until:
            time.sleep(self.random.uniform(.2, 3))  # it iterates, and its copies are made
            status = job.status()
            before = (status.get("restarts", 0), status.get("epoch", 0))
            if self.random.random() < .6:
                self.resize(job)
                time.sleep(self.random.choice([0, self.random.uniform(0, 1.5)]))
            if self.random.random() < .6:
                self.lose(job)
                job.wait("it goes on in another epoch", lambda: job.steady(before))
            else:
                job.wait("it has the size that was asked for", job.steady)

    def total(self):
        return sum(count for kind, count in self.kills.items() if kind != "lead")


def undisturbed(out):
    """The result, which is the same on any number of ranks."""
    job = Job("chaos-calm", out, ranks=1, smallest=1, largest=1, start=1, pace=0)
    try:
        job.wait("the undisturbed job ends", lambda: False)
    finally:
        job.end()
    return job.fingerprint()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench chaos", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, help="keeps what the jobs wrote")
    args = parser.parse_args()
    until = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory(prefix="chaos.") as folder:
        out = (args.out or pathlib.Path(folder)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        bench, chaos = Bench("chaos", out), Chaos(args.seed)
        right = undisturbed(out)
        if not right:
            bench.fail("chaos-calm", "no result")
        hangs = wrong = restarts = number = 0
        while time.monotonic() < until:
            number += 1
            chaos.events = []
            job = Job(f"chaos-{number}", out)
            hung = False
            try:
                chaos.disturb(job, until)
                job.wait("it ends", lambda: False)
            except Hang as hang:
                hangs, hung = hangs + 1, True
                note(str(hang))
            finally:
                restarts += job.status().get("restarts", 0)
                job.end()
            result = job.fingerprint()
            if not hung and (job.process.returncode != 0 or result != right):
                wrong += 1
                note(f"{job.name}: status {job.process.returncode}, result {result} and not {right}: {job.status().get('reason')}")
            note(f"{job.name}: {', '.join(chaos.events)}")
        note(", ".join(f"{kind}: {count}" for kind, count in sorted(chaos.kills.items())))
        for name, value in (("kills", chaos.total()), ("resizes", chaos.resizes), ("restarts", restarts), ("hangs", hangs), ("wrong", wrong)):
            bench.figure(name, value, "count")
    return hangs + wrong > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets: jobs empi-jacobi empi-tsunami empi-spe10 empi-surrogate
"""bench chaos: programs on local pods whose ranks, agents, pods and links are lost at random while they are resized.

Each job must end with the result of the undisturbed one: Jacobi, the tsunami and the inverse problem with the same bits,
the reservoir within its solver's tolerance and with a water balance of 1e-12. Or it says that what it had is gone (a pod
and the one with its copies at a time), and begins again. Figures: chaos.kills, chaos.resizes (asked for), chaos.restarts
(of jobs, from the beginning), chaos.hangs (nothing was done for three minutes), chaos.wrong (another result, or no success).

Usage: chaos.py [--minutes N|--each SECONDS] [--seed S] [--apps NAME,...] [--jobs N] [--kinds KIND,...] [--length F]
                [--ranks N] [--largest N] [--out DIR]
       DIR keeps what the jobs wrote; notes name seed and events
"""
import argparse
import collections
import concurrent.futures
import csv
import itertools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

from elastic import Bench, folder_of, note

SMALLEST = 2  # workers
KINDS = ("rank", "rank", "agent", "pod", "link")  # of losses
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
            command: [{program}]
            args: {arguments}
  runPolicy: {{backoffLimit: 20}}
  autoscaling: {{mode: "Off", windowSeconds: 1}}
"""
LOCAL = "  local: {{slowdownFactor: {slowdown}}}\n"


class App:
    """A program, and how to tell whether it came to the right result.

    `length`: an option that says how much there is to do, and how much lasts for a minute where it is disturbed; by
    `disturbed` it takes longer then.
    """

    def __init__(self, program, length, arguments, disturbed=(), slowdown=1):
        self.program, self.length, self.arguments, self.disturbed, self.slowdown = program, length, arguments, list(disturbed), slowdown

    def words(self, disturbed, share):
        option, value = self.length
        return [option, f"{value * share:g}", *self.arguments, *(self.disturbed if disturbed else [])]

    def result(self, job):
        """Of a job that has ended; None when it left none."""
        raise NotImplementedError

    def is_right(self, result, undisturbed):
        return result == undisturbed


class Jacobi(App):
    def result(self, job):
        found = re.findall(r"fingerprint ([0-9a-f]{16})", job.log.read_text())
        return found[-1] if found else None


class Figures(App):
    """Some figures of a JSON file that it writes."""

    def __init__(self, program, file, figures, *arguments, **options):
        super().__init__(program, *arguments, **options)
        self.file, self.figures = file, figures

    def result(self, job):
        try:
            written = json.loads((job.out / self.file).read_text())
        except (OSError, ValueError):
            return None
        return {name: written.get(name) for name in self.figures}


class Reservoir(Figures):
    TOLERANCE, BALANCE = 1e-5, 1e-12  # production.csv has seven digits

    def result(self, job):
        figures = super().result(job)
        if figures is None:
            return None
        with (job.out / "production.csv").open() as stream:
            rows = list(csv.DictReader(stream))
        return figures, rows

    def is_right(self, result, undisturbed):
        if result is None:
            return False
        (figures, rows), (right_figures, right_rows) = result, undisturbed
        if abs(figures["water_balance"]) > self.BALANCE or len(rows) != len(right_rows):
            return False
        if any(figures[name] != right_figures[name] for name in ("cells_final", "steps")):
            return False
        for row, right in zip(rows, right_rows):
            for name in ("day", "mean_pressure_psi", "oil_stb_day", "water_stb_day"):
                if abs(float(row[name]) - float(right[name])) > self.TOLERANCE * max(abs(float(right[name])), 1):
                    return False
        return True


APPS = {
    "jacobi": Jacobi("empi-jacobi", ("--iterations", 4000), ["--n", "256", "--tolerance", "0"], ["--pace", "10"]),  # ms an iteration, at least
    "tsunami": Figures("empi-tsunami", "tsunami.json", ("state_hash", "steps", "cells_final"), ("--end", 20000),
                       ["--data", "none", "--finest", "15", "--snapshot-every", "0", "--maxima", "0"], slowdown=40),
    "reservoir": Reservoir("empi-spe10", "spe10.json", ("cells_final", "steps", "water_balance"), ("--days", 60),
                           ["--data", "none", "--layers", "2", "--coarsest", "0", "--finest", "0", "--longest-step", "0.5",
                            "--tolerance", "1e-11", "--snapshot-every", "0"], slowdown=4),
    "inverse": Figures("empi-surrogate", "surrogate.json", ("fingerprint",), ("--reference-points", 200),
                       ["--tolerance", "0.02", "--samples", "4000"], slowdown=40),
}


class Hang(Exception):
    pass


class Interrupted(Exception):
    pass


interrupted = threading.Event()  # jobs end at once, in their own threads


def states():
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.environ["HOME"], ".local/state")
    return pathlib.Path(home) / "elastic-mpi"


class Processes:
    """Of a job's pods, by their environment: {pod: {"agent": pid, "ranks": [pid]}}."""

    def __init__(self, uid, rank_program):
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
            if program.endswith(rank_program):
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

    def __init__(self, name, app, out, ranks=2, smallest=SMALLEST, largest=5, start=3, disturbed=True, share=1):
        self.name, self.app, self.largest, self.out, self.log = name, app, largest, out / name, out / f"{name}.log"
        manifest = out / f"{name}.yaml"
        arguments = json.dumps(app.words(disturbed, share))
        text = MANIFEST + (LOCAL if disturbed and app.slowdown > 1 else "")
        manifest.write_text(text.format(name=name, ranks=ranks, smallest=smallest, largest=largest, start=start, program=app.program,
                                        arguments=arguments, slowdown=app.slowdown))
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
        """And tasks, of a program that has them."""
        try:
            lines = (self.out / "windows.jsonl").read_text().splitlines()
        except OSError:
            return 0
        windows = [json.loads(line) for line in lines if line.endswith("}")]
        return sum(window["iterations"] + window.get("tasks", {}).get("ended", 0) for window in windows)

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
            if interrupted.is_set():
                raise Interrupted
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


class Chaos:
    """What befalls one job."""

    def __init__(self, seed, kinds):
        self.random, self.of_kind = random.Random(seed), kinds
        self.kills, self.resizes, self.restarts, self.hangs, self.wrong, self.events = {}, 0, 0, 0, 0, []

    def resize(self, job):
        size = self.random.randint(SMALLEST, job.largest)
        done = subprocess.run(["empi", "scale", job.name, str(size)], capture_output=True, text=True)
        if done.returncode == 0:
            self.resizes += 1
            self.events.append(f"scale {size}")

    def lose(self, job):
        pods = Processes(job.uid(), job.app.program).pods
        if len(pods) < 2:
            return
        name = self.random.choice(sorted(pods))
        pod, kind = pods[name], self.random.choice(self.of_kind)
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
        begun = None  # how often it had begun anew, and had done something since
        while not job.over() and time.monotonic() < until:
            job.wait("it runs", job.steady)
            restarts = job.status().get("restarts", 0)
            if begun != restarts:  # who dies before there are copies ends the job, as is said
                begun, known = restarts, job.iterations()
                job.wait("it iterates", lambda since=known: job.iterations() > since)
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

    def run(self, job, until, right):
        try:
            self.disturb(job, until)
            job.wait("it ends", lambda: False)
        except Hang as hang:
            self.hangs = 1
            note(str(hang))
        finally:
            self.restarts = job.status().get("restarts", 0)
            job.end()
        result = job.app.result(job)
        if not self.hangs and (job.process.returncode != 0 or not job.app.is_right(result, right)):
            self.wrong = 1
            note(f"{job.name}: status {job.process.returncode}, result {str(result)[:300]} and not {str(right)[:300]}: {job.status().get('reason')}")
        note(f"{job.name}: {', '.join(self.events)}")
        return self


def undisturbed(name, app, bench, share):
    """The result, which is the same on any number of ranks."""
    job = Job(f"{name}-calm", app, bench.out, ranks=1, smallest=1, largest=1, start=1, disturbed=False, share=share)
    try:
        job.wait("the undisturbed job ends", lambda: False)
    finally:
        job.end()
    result = app.result(job)
    if result is None:
        bench.fail(job.name, "no result")
    return result


def main():
    parser = argparse.ArgumentParser(prog="./dev bench chaos", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--apps", default=",".join(APPS), help=f"of {', '.join(APPS)}; one after the other (all)")
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time (1): two cores bear two")
    parser.add_argument("--each", type=float, help="instead: each program once, disturbed for so many seconds")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of losses: %(default)s; a link costs half a minute until it is known")
    parser.add_argument("--length", type=float, default=1, help="of what there is to do for each job (1: a minute, or more)")
    parser.add_argument("--ranks", type=int, default=2, help="of each worker (2)")
    parser.add_argument("--largest", type=int, default=5, help="workers of a job (5)")
    parser.add_argument("--out", type=pathlib.Path, help="keeps what the jobs wrote")
    args = parser.parse_args()
    names, kinds = args.apps.split(","), args.kinds.split(",")
    if not set(kinds) <= set(KINDS):
        parser.error(f"--kinds: of {', '.join(sorted(set(KINDS)))}")
    for name in names:
        if name not in APPS:
            parser.error(f"--apps: there is no '{name}'; there are {', '.join(APPS)}")
    with folder_of(args.out, "chaos") as out:
        bench = Bench("chaos", out)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            calm = pool.map(lambda name: undisturbed(name, APPS[name], bench, args.length), names)
            right = dict(zip(names, calm))
        until = time.monotonic() + 60 * args.minutes if not args.each else float("inf")
        numbers = itertools.count(1)

        def one_after_the_other(_):
            met = []
            while time.monotonic() < until:
                number = next(numbers)
                if args.each and number > len(names):
                    break
                name = names[(number - 1) % len(names)]
                job = Job(f"{name}-{number}", APPS[name], out, ranks=args.ranks, largest=args.largest, share=args.length)
                met.append(Chaos(f"{args.seed}/{number}", kinds).run(job, time.monotonic() + args.each if args.each else until, right[name]))
            return met

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            try:
                met = [chaos for some in pool.map(one_after_the_other, range(args.jobs)) for chaos in some]
            except BaseException:
                interrupted.set()
                raise
        kills = collections.Counter()
        for chaos in met:
            kills.update(chaos.kills)
        note(", ".join(f"{kind}: {count}" for kind, count in sorted(kills.items())))
        bench.figure("kills", sum(count for kind, count in kills.items() if kind != "lead"), "count")
        for name in ("resizes", "restarts", "hangs", "wrong"):
            bench.figure(name, sum(getattr(chaos, name) for chaos in met), "count")
    return any(chaos.hangs or chaos.wrong for chaos in met)


if __name__ == "__main__":
    sys.exit(main())

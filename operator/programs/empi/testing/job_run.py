# SPDX-License-Identifier: Apache-2.0
"""What the cases of run_test.py start and look at: manifests, `empi`, a job in the background, what it leaves.

sys.argv[1] is the folder with the programs; files go to WORK, which ends with the process.
"""
import atexit
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(sys.argv[1]).resolve()
PATIENCE = 120  # s; the machine may be busy
WORK = pathlib.Path(tempfile.mkdtemp(prefix="empi-run."))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
MARK = f"EMPI_TEST_MARK={os.getpid()}-{time.time_ns()}"
ENVIRONMENT = {**os.environ, "EMPI_STATE_DIR": str(WORK / "state"), "PATH": f"{BIN}:{os.environ['PATH']}",
               MARK.split("=")[0]: MARK.split("=")[1]}

# Goes on until it is told to end. Its ranks sleep most of the time: what is tried is not what they compute.
ENDLESS = ["empi-jacobi", "--n", "512", "--iterations", "1000000000", "--tolerance", "0", "--pace", "20"]
HELLO = ["python3", "-m", "mpi4py.bench", "helloworld"]


def manifest(name, command, replicas=2, least=1, most=4, rigid=False, extra="", slots=1):
    path = WORK / f"{name}.yaml"
    path.write_text(f"""apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata:
  name: {name}
spec:
  slotsPerWorker: {slots}
  worker:
{f"    replicas: {replicas}" if replicas else ""}
    minReplicas: {least}
    maxReplicas: {most}
    template:
      spec:
        containers:
          - name: worker
            command: {json.dumps(command)}
  runtime: {{mode: {"Rigid" if rigid else "Malleable"}}}
{extra}""")
    return path


def queue(name, cpus):
    """Of so many CPUs, that lets jobs grow as soon as it pays at all."""
    path = WORK / f"{name}.yaml"
    path.write_text(f"""apiVersion: elasticmpi.io/v1alpha1
kind: ElasticQueue
metadata:
  name: {name}
spec:
  pools:
    - {{name: machine, quota: {{cpu: "{cpus}"}}}}
  growth: {{timeValuePercent: 100, costFactorPercent: 100, cooldownSeconds: 0}}
""")
    return path


def empi(*arguments, before=(), check=True, timeout=PATIENCE, **options):
    result = subprocess.run([*before, BIN / "empi", *map(str, arguments)], env=ENVIRONMENT, capture_output=True, text=True,
                            timeout=timeout, cwd=WORK, **options)
    if check:
        assert result.returncode == 0, f"empi {arguments}: exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result


class Run:
    """A job in the background, or several: what is asked of a job is asked of the first where none is named."""

    def __init__(self, *paths, arguments=()):
        self.name = paths[0].stem
        self.out = WORK / f"{self.name}-out"
        self.log = (WORK / f"{self.name}.txt").open("w+")
        self.process = subprocess.Popen([BIN / "empi", "run", *paths, "--out", self.out, *map(str, arguments)],
                                        env=ENVIRONMENT, stdout=self.log, stderr=subprocess.STDOUT, cwd=WORK)
        atexit.register(self.process.kill)

    def text(self):
        return (WORK / f"{self.name}.txt").read_text()

    def status(self, job=None):
        try:
            return json.loads((WORK / "state" / (job or self.name) / "status.json").read_text())
        except FileNotFoundError:
            return {}

    def wait_for(self, what, condition, patience=PATIENCE):
        end = time.monotonic() + patience
        while not condition():
            assert self.process.poll() is None, f"ended with {self.process.returncode} before {what}:\n{self.text()}"
            assert time.monotonic() < end, f"not within {patience} s: {what}\n{self.text()}\n{self.status()}"
            time.sleep(0.05)

    def wait_for_size(self, workers, job=None):
        self.wait_for(f"{workers} workers", lambda: self.status(job).get("joinedReplicas") == workers
                      and self.status(job).get("state") == "Running")

    def wait(self):
        status = self.process.wait(timeout=PATIENCE)
        twice = re.search(r"^.* (\S+): \1: .*$", self.text(), re.MULTILINE)
        assert not twice, f"says twice of whom: {twice.group()}"
        return status

    def summary(self, job=""):
        """Of several jobs each has a folder."""
        return json.loads((self.out / job / "summary.json").read_text())


def marked_processes():
    """Processes, in whatever namespace, that inherited our mark."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            if MARK.encode() in environment:
                found.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            pass
    return found


def names_on_machine():
    """What our jobs call their interfaces and folders on this machine: other jobs may run beside them."""
    uids = [re.search(r'\buid: "([^"]+)"', path.read_text())[1] for path in WORK.rglob("spec.yaml")]
    return [f"empi-{uid[:8]}" for uid in uids]


def expect_nothing_left():
    names = names_on_machine()
    end = time.monotonic() + 20
    while left := marked_processes():
        assert time.monotonic() < end, f"processes left: {left}"
        time.sleep(0.05)
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True).stdout
    assert not any(name in links for name in names), (names, links)
    mounts = pathlib.Path("/proc/self/mounts").read_text()
    assert not any(name in mounts for name in names), (names, mounts)
    while leftovers := [p.name for p in pathlib.Path("/dev/shm").iterdir() if p.name.startswith(tuple(names))]:
        assert time.monotonic() < end, leftovers
        time.sleep(0.05)


def check_hello(run_text, ranks):
    for rank in range(ranks):
        assert f"Hello, World! I am process {rank} of {ranks}" in run_text, run_text


def documented(page, part):
    """The commands of a part of the docs, in words, without `empi`."""
    text = (pathlib.Path(__file__).parents[4] / "docs" / page).read_text()
    lines = text.split(f"\n## {part}\n")[1].split("\n## ")[0].splitlines()
    return [line.split()[1:] for line in lines if line.startswith("    empi ")]


def on_terminal(*arguments):
    controller, terminal = pty.openpty()
    process = subprocess.Popen([BIN / "empi", *arguments], env=ENVIRONMENT, stdout=terminal, stderr=terminal, cwd=WORK)
    os.close(terminal)
    text = b""
    try:
        while chunk := os.read(controller, 4096):
            text += chunk
    except OSError:
        pass
    return process.wait(timeout=PATIENCE), text

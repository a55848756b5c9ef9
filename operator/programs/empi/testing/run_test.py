#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`empi run` with real agents, ranks and namespaces.

Usage: run_test.py BIN CASE    BIN is the folder with empi, elastic-mpi-agent, elastic-mpi-sidecar, empi-jacobi
Every wait is bounded; every process that a case starts is gone at its end, and that is checked.
"""
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import time

import many_jobs
import sizes
from job_run import (BIN, ENDLESS, ENVIRONMENT, HELLO, PATIENCE, WORK, Run, check_hello, empi, expect_nothing_left,
                     manifest, marked_processes, names_on_machine, on_terminal)


def bad_manifest():
    path = manifest("bad", HELLO)
    path.write_text(path.read_text().replace("minReplicas: 1", "minReplicas: nine"))
    line = path.read_text().splitlines().index("    minReplicas: nine") + 1
    result = empi("run", path, check=False)
    assert result.returncode == 2, result
    assert f"bad.yaml:{line}: spec.worker.minReplicas: " in result.stderr, result.stderr
    assert empi("run", WORK / "missing.yaml", check=False).returncode == 2
    assert empi("run", check=False).returncode == 2
    good = manifest("good", HELLO)
    refused = empi("run", good, "--set", "worker.maxReplicas=0", check=False)
    assert refused.returncode == 2 and "maxReplicas" in refused.stderr, refused
    threshold = manifest("unstable", HELLO, replicas=0, extra="""  autoscaling:
    mode: Auto
    policy: {name: threshold, threshold: {lowPercent: 30, highPercent: 40, noisePercent: 10}}
""")
    unstable = empi("run", threshold, check=False)
    assert unstable.returncode == 2 and "threshold" in unstable.stderr, unstable


def rigid_namespaces():
    path = manifest("hello", HELLO, replicas=2, rigid=True, slots=2)
    result = empi("run", path, "--out", WORK / "o")
    check_hello(result.stdout, 4)
    assert "hello-w-0." in result.stdout and "hello-w-1." in result.stdout, "host names are the pods'"
    summary = json.loads((WORK / "o/summary.json").read_text())
    assert summary["result"] == "Succeeded" and summary["changes"] == [], summary
    assert summary["core_seconds"] > 0 and summary["cpu_seconds"] > 0, summary
    assert (WORK / "o/hello-w-1.log").read_text().count("Hello") == 2
    assert "Succeeded" in empi("top", "hello").stdout
    # All pods are on this machine's processors: who waits for a message lets others run.
    told = manifest("told", ["sh", "-c", "env | grep mpi_yield_when_idle"], rigid=True)
    assert "OMPI_MCA_mpi_yield_when_idle=1" in empi("run", told, "--out", WORK / "told").stdout


def rigid_loopback():
    path = manifest("hello", HELLO, replicas=2, rigid=True, extra="  local: {network: Loopback}\n")
    check_hello(empi("run", path).stdout, 2)
    check_hello(empi("run", path, "--no-tls").stdout, 2)
    assert not json.loads((WORK / "state/hello/status.json").read_text()).get("mutualTLS")


def no_namespaces():
    """As in a container that permits none: falls back by itself and says so in one line."""
    path = manifest("hello", HELLO, replicas=2, rigid=True)
    limit = pathlib.Path("/proc/sys/user/max_user_namespaces")
    command = f"echo 0 > {limit} && exec {BIN}/empi run {path} --out {WORK}/o"
    result = subprocess.run(["unshare", "--user", "--map-root-user", "bash", "-c", command], env=ENVIRONMENT,
                            capture_output=True, text=True, timeout=PATIENCE, cwd=WORK)
    assert result.returncode == 0, result
    warnings = [line for line in result.stderr.splitlines() if "namespaces are not permitted here" in line]
    assert len(warnings) == 1, result.stderr
    check_hello(result.stdout, 2)


def ordinary_user():
    """uid 12345 without any privilege."""
    path = manifest("hello", HELLO, replicas=2, rigid=True)
    home = WORK / "home"
    home.mkdir()
    for folder in (WORK, home):
        os.chown(folder, 12345, 12345)
    result = subprocess.run(["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--inh-caps=-all",
                             BIN / "empi", "run", path, "--out", home / "o"],
                            env={**ENVIRONMENT, "HOME": str(home), "EMPI_STATE_DIR": str(home / "state")},
                            capture_output=True, text=True, timeout=PATIENCE, cwd=home)
    assert result.returncode == 0, result
    assert "not permitted" not in result.stderr, result.stderr
    check_hello(result.stdout, 2)
    assert (home / "o/summary.json").stat().st_uid == 12345


def scale_loopback():
    """Resizing works where pods share the loopback interface, too."""
    run = Run(manifest("jacobi", ENDLESS, extra="  local: {network: Loopback}\n"))
    run.wait_for_size(2)
    expect_members_command_nothing(run)
    for size in (3, 1):
        empi("scale", "jacobi", size)
        run.wait_for_size(size)
    empi("cancel", "jacobi")
    assert run.wait() == 1, run.text()
    assert [c["outcome"] for c in run.summary()["changes"]] == ["committed", "committed"], run.summary()
    assert not (WORK / "state/jacobi/tls").exists(), "keys are left"


def expect_members_command_nothing(run):
    """Of a job whose pods share the loopback interface: its agents speak TLS, and take commands from `empi run` alone."""
    assert run.status()["mutualTLS"] is True
    folder = WORK / "state/jacobi"
    certificates = sorted(folder.glob("tls/*/identity.pem"))
    assert [path.parent.name for path in certificates] == ["jacobi-w-0", "jacobi-w-1"], certificates
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.glob("tls/*/*.pem"))
    agent = next(pid for pid, command in marked_processes() if "elastic-mpi-agent" in command)
    environment = pathlib.Path(f"/proc/{agent}/environ").read_text().split("\0")
    port = int(next(entry for entry in environment if entry.startswith("EMPI_AGENT_PORT=")).split("=")[1])
    token = (folder / "token").read_text().split()[0]
    body = json.dumps({"fence": 1000000, "reason": "wrong"})
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    context = ssl.create_default_context(cafile=certificates[0].parent / "authorities.pem")
    context.check_hostname = False
    for certificate in (None, certificates[1]):
        if certificate:
            context.load_cert_chain(certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=PATIENCE)
        connection.request("POST", "/v1/stop", body, head)
        answer = connection.getresponse()
        assert answer.status == 403, (certificate, answer.status, answer.read())
    try:
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        plain.request("POST", "/v1/stop", body, head)
        raise AssertionError(f"a plain request is answered: {plain.getresponse().status}")
    except (http.client.HTTPException, OSError):
        pass


def scale_by_hand():
    run = Run(manifest("jacobi", ENDLESS))
    run.wait_for_size(2)
    again = empi("run", WORK / "jacobi.yaml", check=False)
    assert again.returncode == 1 and "running already" in again.stderr, again
    empi("scale", "jacobi", 4)
    run.wait_for_size(4)
    assert "4 workers x 1 = 4 ranks" in empi("top", "jacobi").stdout
    assert "limited to 4" in empi("scale", "jacobi", 99).stdout
    empi("scale", "jacobi", 1)
    run.wait_for_size(1)
    history = empi("history", "jacobi").stdout
    assert "last change: 4 -> 1 workers, Committed" in history, history
    assert empi("scale", "nobody", 2, check=False).returncode == 1
    empi("cancel", "jacobi")
    assert run.wait() == 1, run.text()
    assert "cancelled by the user" in run.text()
    summary = run.summary()
    assert [(c["kind"], c["from"], c["to"], c["outcome"]) for c in summary["changes"]] == [
        ("grow", 2, 4, "committed"), ("shrink", 4, 1, "committed")], summary
    assert len((run.out / "profile.csv").read_text().splitlines()) > 1


def edit_manifest():
    path = manifest("jacobi", ENDLESS, replicas=1)
    run = Run(path)
    run.wait_for_size(1)
    good = path.read_text()
    path.write_text(good.replace("replicas: 1", "replicas: three"))
    run.wait_for("refusal", lambda: "the edited manifest is refused" in run.text())
    path.write_text(good.replace("slotsPerWorker: 1", "slotsPerWorker: 2"))
    run.wait_for("refusal of an immutable field", lambda: "slotsPerWorker" in run.text())
    path.write_text(good.replace("replicas: 1", "replicas: 2"))
    run.wait_for_size(2)
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 1


def several_at_once():
    """Jobs on one machine do not notice each other: with a network each, and with the loopback interface of all."""
    loopback = "  local: {network: Loopback}\n"
    runs = [Run(manifest(f"job{number}", ENDLESS, extra=loopback if number % 2 else "")) for number in range(4)]
    for run in runs:
        run.wait_for_size(2)
    assert len(set(names_on_machine())) == 4, names_on_machine()
    for run in runs:
        empi("scale", run.name, 3)
    for run in runs:
        run.wait_for_size(3)
    empi("cancel", "job0")
    assert runs[0].wait() == 1, runs[0].text()
    for run in runs[1:]:
        empi("scale", run.name, 1)
    for run in runs[1:]:
        run.wait_for_size(1)
        empi("cancel", run.name)
        assert run.wait() == 1, run.text()
        assert [c["outcome"] for c in run.summary()["changes"]] == ["committed", "committed"], run.summary()


def interrupt():
    run = Run(manifest("jacobi", ENDLESS))
    run.wait_for_size(2)
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 1, run.text()
    assert run.summary()["result"] == "Failed" and "cancelled" in run.summary()["reason"]


def interrupt_twice():
    run = Run(manifest("jacobi", ENDLESS))
    run.wait_for_size(2)
    for agent in [pid for pid, command in marked_processes() if "elastic-mpi-agent" in command]:
        os.kill(agent, signal.SIGSTOP)  # nothing ends by itself
    run.process.send_signal(signal.SIGINT)
    time.sleep(0.7)  # a second signal right after the first counts as the same
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 130, run.text()


def kill_supervisor():
    run = Run(manifest("jacobi", ENDLESS))
    run.wait_for_size(2)
    run.process.kill()
    run.wait()
    expect_nothing_left()
    for command in ("top", "history", "why"):
        assert "controller was killed" in empi(command, "jacobi").stdout, command
    assert empi("scale", "jacobi", 3, check=False).returncode == 1


def kill_job_process():
    run = Run(manifest("jacobi", ENDLESS))
    run.wait_for_size(2)
    children = pathlib.Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    assert run.wait() == 137


def kill_a_pod():
    """Without a member that dies the others go on, and it is replaced, that of the lead, too; where the job says so any
    ends it at once, with its reason."""
    run = Run(manifest("jacobi", ENDLESS, extra="  checkpoint: {path: volume, everySeconds: 1}\n"))
    files = lambda: sorted((WORK / "volume/jacobi").glob("*.h5"))
    run.wait_for("a checkpoint, and so copies in memory", files)
    kill_rank(run, 1)
    run.wait_for("a replacement", lambda: run.status().get("activeWorkers") == "0,2")
    run.wait_for_size(2)
    before = files()[-1]
    run.wait_for("a checkpoint of these two, and so their copies", lambda: files()[-1] > before)
    kill_rank(run, 0)  # in the pod of the lead
    run.wait_for("another lead, and a replacement", lambda: run.status().get("activeWorkers") == "2-3")
    run.wait_for_size(2)
    empi("cancel", "jacobi")
    assert run.wait() == 1
    run = Run(manifest("jacobi", ENDLESS, extra="  resize: {onWorkerLoss: Fail}\n"))
    run.wait_for_size(2)
    kill_rank(run, 1)
    assert run.wait() == 1
    assert "signal 9" in run.text(), run.text()


def checkpoint():
    """Suspended, killed and begun anew, or told which checkpoint: the program goes on, and ends in the same bits."""
    command = ["empi-jacobi", "--n", "96", "--iterations", "800", "--tolerance", "0"]
    undisturbed = subprocess.run([BIN / command[0], *command[1:]], env=ENVIRONMENT, capture_output=True, text=True,
                                 timeout=PATIENCE, cwd=WORK, check=True).stdout
    result = re.search(r"fingerprint \w+", undisturbed)[0]
    path = manifest("jacobi", [*command, "--pace", "5"], extra="""  checkpoint: {path: volume, everySeconds: 1}
  resize: {onWorkerLoss: Fail}
""")
    files = lambda: sorted((WORK / "volume/jacobi").glob("empi-jacobi.*.h5"))
    run = Run(path)
    run.wait_for("a checkpoint", files)
    text = path.read_text()
    path.write_text(text.replace("spec:\n", "spec:\n  suspend: true\n", 1))
    run.wait_for("the end of its pods", lambda: run.status().get("state") == "Suspended" and not marked_ranks())
    path.write_text(text)
    first = files()
    run.wait_for("another checkpoint", lambda: files()[-1] > first[-1])
    kill_rank(run, 0)  # in the pod of the lead
    assert run.wait() == 1
    assert f"goes on from {first[-1]}, iteration" in run.text(), run.text()
    assert run.status()["checkpoint"]["restoredIteration"] > 0, run.status()

    newest, kept = files()[-1], WORK / "kept.h5"
    kept.write_bytes(newest.read_bytes())
    again = empi("run", path, "--set", "worker.replicas=3")
    assert f"goes on from {newest}, iteration" in again.stdout and result in again.stdout, again.stdout
    told = empi("run", path, "--from", kept)
    assert f"goes on from {kept}, iteration" in told.stdout and result in told.stdout, told.stdout
    foreign = WORK / "foreign.h5"
    foreign.write_text("this is no checkpoint\n")
    refused = empi("run", path, "--from", foreign, check=False)
    said = refused.stdout + refused.stderr
    assert refused.returncode == 1 and f"{foreign} that the job is to go on from is refused" in said, refused
    assert empi("run", path, "--from", WORK / "none.h5", check=False).returncode == 2


def restartable():
    """A plain MPI program is told to end, and is started again on other workers: the bits are those of one run."""
    command = ["empi-jacobi-restartable", "--n", "96", "--iterations", "400", "--state"]
    undisturbed = subprocess.run([BIN / command[0], *command[1:], WORK / "none"], env=ENVIRONMENT, capture_output=True,
                                 text=True, timeout=PATIENCE, cwd=WORK, check=True).stdout
    result = re.search(r"fingerprint \w+", undisturbed)[0]
    path = manifest("jacobi", [*command, str(WORK / "jacobi.restart"), "--pace", "20"])
    path.write_text(path.read_text().replace("{mode: Malleable}",
                                             "{mode: Restartable, restart: {signal: USR1, exitCode: 85}}"))
    run = Run(path)
    run.wait_for_size(2)
    for size in (3, 1):
        empi("scale", "jacobi", size)
        run.wait_for_size(size)
    assert run.wait() == 0, run.text()
    assert re.findall(r"goes on at iteration \d+ on (\d) ranks", run.text()) == ["3", "1"], run.text()
    assert result in run.text(), run.text()
    status = run.status()
    assert status["state"] == "Succeeded" and status.get("restarts", 0) == 0, status


def kill_rank(run, number):
    """One of those that the job started with; it may be about to be started."""
    run.wait_for(f"a process of rank {number}", lambda: process_of_rank(number))
    os.kill(process_of_rank(number), signal.SIGKILL)


def process_of_rank(number):
    for pid in marked_ranks():
        variables = dict(re.findall(r"(\w+)=([^\0]*)", pathlib.Path(f"/proc/{pid}/environ").read_text()))
        if variables.get("PMIX_RANK") == str(number) and variables["PMIX_NAMESPACE"].endswith(".1"):
            return pid
    return None


def marked_ranks():
    return [pid for pid, command in marked_processes() if command.startswith("empi-jacobi")]


def failing_program():
    run = Run(manifest("fails", ["sh", "-c", "echo last words; exit 3"], rigid=True))
    assert run.wait() == 3
    assert "last words" in run.text() and run.summary()["result"] == "Failed", run.text()


def missing_program():
    run = Run(manifest("missing", ["no-such-program"], rigid=True))
    assert run.wait() == 127
    assert "no-such-program" in run.text(), run.text()


def full_disk():
    """Of results: the job runs to its end, and it is said, with a status of its own, that they are not complete."""
    folder = WORK / "small"
    folder.mkdir()
    path = manifest("fills", ["sh", "-c", f"dd if=/dev/zero of={folder}/rest bs=1k; echo last words"], replicas=1, rigid=True)
    script = f'mount -t tmpfs -o size=256k small {folder} && exec "$@"'
    run = empi("run", path, "--out", folder / "out", before=["unshare", "--mount", "sh", "-c", script, "-"], check=False)
    said = run.stdout + run.stderr
    assert run.returncode == 1 and "job fills: Succeeded" in said, run
    assert "results are not complete: " in said and "No space left" in said and "summary in" not in said, run
    # There is room again at the end. More than a pipe holds has been printed before, so part of it has been read.
    path = manifest("holes", ["sh", "-c", f"dd if=/dev/zero of={folder}/rest bs=1k; seq 20000; rm {folder}/rest"], replicas=1, rigid=True)
    script = f'mount -t tmpfs -o size=1m small {folder} && exec "$@"'
    run = empi("run", path, "--out", folder / "out", before=["unshare", "--mount", "sh", "-c", script, "-"], check=False)
    said = run.stderr
    assert run.returncode == 1 and "job holes: Succeeded" in said, run
    assert "holes-w-0.log lacks lines: No space left" in said, run


def network_limits():
    """The queueing disciplines are on the pod's link; where the kernel has none the job is refused."""
    show = ["sh", "-c", "tc qdisc show dev eth0"]
    path = manifest("limits", show, replicas=1, rigid=True, extra="  local: {networkMegabitsPerSecond: 200}\n")
    text = empi("run", path).stdout
    assert re.search(r"qdisc tbf .* rate 200Mbit", text), text
    assert "emulated: network limited to 200 Mbit/s" in text, text
    path = manifest("delays", show, replicas=1, rigid=True, extra="  local: {networkDelayMicroseconds: 300}\n")
    result = empi("run", path, check=False)
    if result.returncode == 0:
        assert re.search(r"qdisc netem .* delay 300us", result.stdout), result.stdout
    else:
        assert result.returncode == 1 and "sch_netem" in result.stderr, result.stderr
    # In each call of MPI it is emulated by any kernel.
    path = manifest("calls", ["sh", "-c", "tc qdisc show dev eth0; env | grep EMPI_NETWORK_"], replicas=1, rigid=True,
                    extra="  local: {networkDelayMicroseconds: 300, networkMegabitsPerSecond: 200, networkEmulation: Calls}\n")
    text = empi("run", path).stdout
    assert "tbf" not in text and "EMPI_NETWORK_DELAY_US=300" in text and "EMPI_NETWORK_MBIT_PER_S=200" in text, text
    assert "emulated: network delay 300 us, network limited to 200 Mbit/s (slept in each call of MPI)" in text, text


def terminal():
    """On a terminal the view is drawn, and rank output stays in the files."""
    code, text = on_terminal("run", manifest("hello", HELLO, replicas=1, rigid=True))
    assert code == 0, text
    assert b"hello  " in text and b"efficiency" in text, text
    assert b"Hello, World" not in text, text
    assert "Hello, World" in (WORK / "hello-out/hello-w-0.log").read_text()


def help_and_completion():
    for command in ("run", "submit", "queue", "scale", "top", "history", "cancel", "resume", "simulate", "why", "logs",
                    "import", "completion"):
        text = empi(command, "--help").stdout
        assert "Example" in text and f"empi {command}" in text, text
    script = empi("completion", "bash").stdout
    subprocess.run(["bash", "-c", script + "\ncomplete -p empi"], check=True, capture_output=True)
    asked = "\nCOMP_WORDS=({} why --cl); COMP_CWORD=2; _empi; echo ${{COMPREPLY[*]}}".format(BIN / "empi")
    assert subprocess.run(["bash", "-c", script + asked], check=True, capture_output=True).stdout == b"--cluster\n"
    assert empi("completion", "tcsh", check=False).returncode == 2
    environment = dict(ENVIRONMENT, KUBECONFIG="/nowhere/config")
    for words in (["top", "--cluster"], ["why", "jacobi", "--context", "c"], ["scale", "jacobi", "nan"],
                  ["logs", "jacobi"], ["import", "/nowhere/job.yaml"]):
        refused = subprocess.run([BIN / "empi", *words], env=environment, capture_output=True, text=True)
        assert refused.returncode == 2 and refused.stdout == "", (words, refused)
    plugin = subprocess.run([BIN / "kubectl-empi", "top"], env=environment, capture_output=True, text=True)
    assert plugin.returncode == 2 and "no kubeconfig: /nowhere/config" in plugin.stderr, plugin
    known = subprocess.run([BIN / "kubectl_complete-empi", "his"], env=environment, capture_output=True, text=True)
    assert known.stdout == "history\n:4\n", known
    assert empi("frobnicate", check=False).returncode == 2


if __name__ == "__main__":
    {**vars(many_jobs), **vars(sizes), **globals()}[sys.argv[2]]()
    expect_nothing_left()
    print(f"{sys.argv[2]}: ok")

# SPDX-License-Identifier: Apache-2.0
"""Cases of run_test.py: several jobs of one run, and their queue."""
import json
import os
import re
import signal

from job_run import ENDLESS, HELLO, WORK, Run, check_hello, documented, empi, manifest, on_terminal, queue


def many():
    """Jobs of one process: each has its folder, its state and its commands, and ends without the others."""
    loopback = "  local: {network: Loopback}\n"
    run = Run(manifest("a", HELLO, rigid=True), manifest("b", ENDLESS, replicas=1),
              manifest("c", ENDLESS, replicas=1, extra=loopback), arguments=["--queue", queue("roomy", 8)])
    for job in "bc":
        run.wait_for_size(1, job)
    run.wait_for("the end of a", lambda: "job a: Succeeded" in run.text())
    check_hello(run.text(), 2)
    assert run.summary("a")["result"] == "Succeeded"
    run.wait_for("nobody to command a", lambda: "is not running" in empi("scale", "a", 1, check=False).stderr)
    for job in "bc":
        assert "asked queue roomy for 2 workers" in empi("scale", job, 2).stdout
    for job in "bc":
        run.wait_for_size(2, job)
    tokens = {(WORK / "state" / job / "token").read_text() for job in "bc"}
    assert len(tokens) == 2 and not (WORK / "state/a/token").exists()
    queued = "  scheduling: {expectedSeconds: 9}\n"
    assert empi("submit", manifest("d", HELLO, replicas=1, rigid=True, extra=queued)).stderr == ""
    run.wait_for("the end of d", lambda: "job d: Succeeded" in run.text())
    assert run.summary("d")["result"] == "Succeeded"
    empi("cancel", "b")
    run.wait_for("the end of b", lambda: "job b: Failed" in run.text())
    assert run.status("c")["state"] == "Running", run.status("c")
    assert "b: starts with 1 worker" in run.text() and "c: starts with 1 worker" in run.text(), run.text()
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 1, run.text()
    assert [c["outcome"] for c in run.summary("b")["changes"]] == ["committed"], run.summary("b")
    assert "cancelled" in run.summary("c")["reason"]
    assert (run.out / "c/c-w-0.log").exists() and not (run.out / "c/b-w-0.log").exists()


def many_succeed():
    """One exit code for all, one view of all; --stagger keeps them apart."""
    hello = [manifest(name, HELLO, replicas=1, rigid=True) for name in ("one", "two")]
    alone, text = on_terminal("run", hello[0], "--workers", "1")
    assert alone == 0 and b"queue local  " in text, text
    code, text = on_terminal("run", *hello, "--stagger", "1", "--out", "o")
    assert code == 0 and re.search(b"\none  [A-Z]", text) and re.search(b"\ntwo  [A-Z]", text), text
    assert -1 < text.find(b"two  starts in 1 s") < text.find(b"job two: output in"), text
    queued = "  scheduling: {expectedSeconds: 9}\n  autoscaling: {mode: Auto, policy: {name: throughput}}\n"
    unnamed = [manifest(name, ["true"], replicas=0, extra=queued) for name in ("three", "four")]
    result = empi("run", *unnamed)
    assert "Succeeded" in result.stdout and result.stderr == "", f"the run has a queue, which they are in: {result}"
    failing = manifest("fails", ["sh", "-c", "exit 3"], replicas=1, rigid=True)
    result = empi("run", hello[0], failing, check=False)
    assert result.returncode == 3 and "job one: Succeeded" in result.stdout, result


def called_off():
    """A job whose turn has not come is cancelled as any other, and the others know nothing of it."""
    run = Run(manifest("now", ENDLESS, replicas=1), manifest("later", ENDLESS, replicas=1), arguments=["--stagger", 600])
    run.wait_for_size(1, "now")
    assert "has not begun: it starts in " in empi("scale", "later", 2, check=False).stderr
    assert "queue local" in empi("queue").stdout
    empi("submit", manifest("more", HELLO, replicas=1, rigid=True), "--beside", "later")
    run.wait_for("the end of more", lambda: "job more: Succeeded" in run.text())
    assert "cancelled before it began" in empi("cancel", "later").stdout
    run.wait_for("the word of it", lambda: "job later: cancelled before it began" in run.text())
    again = empi("cancel", "later", check=False)
    assert again.returncode == 1 and "no job named later" in again.stderr, again
    assert "later" not in empi("top").stdout, "as if it had been killed"
    empi("cancel", "now")
    assert run.wait() == 1, run.text()


def submitted():
    """A job that comes later belongs to the run as those do that it began with."""
    late = manifest("late", ENDLESS, replicas=1)
    alone = empi("submit", late, check=False)
    assert alone.returncode == 1 and "nothing runs to add job late to: start it with `empi run" in alone.stderr, alone
    run = Run(manifest("first", ENDLESS, replicas=1))
    run.wait_for_size(1)
    assert "output in " + str(WORK / "late-out") in empi("submit", late, "--set", "worker.maxReplicas=2").stdout
    run.wait_for_size(1, "late")
    assert "limited to 2" in empi("scale", "late", 9).stdout
    run.wait_for_size(2, "late")
    again = empi("submit", late, check=False)
    assert again.returncode == 1 and "running already" in again.stderr, again
    late.write_text(late.read_text().replace("minReplicas: 1", "minReplicas: none"))
    assert empi("submit", late, check=False).returncode == 2
    other = Run(manifest("other", ENDLESS, replicas=1))
    other.wait_for_size(1)
    more = manifest("more", HELLO, replicas=1, rigid=True)
    which = empi("submit", more, check=False)
    assert which.returncode == 1 and "--beside JOB" in which.stderr, which
    empi("submit", more, "--beside", "other", "--out", "m")
    other.wait_for("the end of more", lambda: "job more: Succeeded" in other.text())
    assert json.loads((WORK / "m/summary.json").read_text())["result"] == "Succeeded"
    empi("cancel", "first")
    run.wait_for("the end of first", lambda: "job first: Failed" in run.text())
    assert run.status("late")["state"] == "Running", "the run goes on for the other"
    for process in (run.process, other.process):
        process.send_signal(signal.SIGINT)
    assert run.wait() == other.wait() == 1
    assert "cancelled" in json.loads((WORK / "late-out/summary.json").read_text())["reason"]


def local_queue():
    """Three jobs on four workers: who wants more waits, others shrink for it, and grow again when it has gone."""
    wide = manifest("wide", ENDLESS, replicas=4)
    fixed = manifest("fixed", ENDLESS, replicas=2, rigid=True)
    run = Run(wide, fixed, arguments=["--queue", queue("four", 4), "--stagger", 1])
    run.wait_for_size(2, "fixed")
    run.wait_for_size(2, "wide")
    assert "Yielding" in empi("history", "wide", "--events").stdout
    assert "no queue named none" in empi("queue", "none", check=False).stderr
    empi("submit", manifest("third", ENDLESS, replicas=3, rigid=True))
    told = "queue four  4 of 4 CPUs held; 2 jobs run, 1 waits"
    run.wait_for("third to wait and be told why", lambda: told in (text := empi("queue", "four").stdout)
                 and "  third  Queued" in text and "needs 3 workers of 1 CPU" in text)
    assert "third  Queued" in empi("top", "third").stdout
    too_large = empi("submit", manifest("huge", ENDLESS, replicas=9, most=9, rigid=True), check=False)
    assert too_large.returncode == 1 and "needs at least 9 workers" in too_large.stderr, too_large
    empi("cancel", "fixed")
    run.wait_for_size(3, "third")
    run.wait_for_size(1, "wide")
    empi("cancel", "third")
    run.wait_for_size(4, "wide")
    empi("submit", manifest("fourth", ENDLESS, replicas=4, rigid=True))
    run.wait_for("fourth to wait", lambda: run.status("fourth").get("state") == "Queued")
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 1, run.text()
    assert "cancelled" in run.summary("wide")["reason"] and "cancelled" in run.summary("fourth")["reason"]
    assert run.summary("fourth")["core_seconds"] == 0, run.summary("fourth")


def documented_queue():
    """The commands of docs/scheduling.md, as they stand there."""
    commands = documented("scheduling.md", "On one machine")
    assert [words[0] for words in commands] == ["run", "submit", "queue", "cancel"], commands
    jobs = {f"{name}.yaml": manifest(name, ENDLESS, replicas=0) for name in "abcd"}
    run = Run(*[jobs[word] for word in commands[0] if word in jobs],
              arguments=[word for word in commands[0][1:] if word not in jobs])
    for job in "abc":
        run.wait_for(f"{job} to run", lambda: run.status(job).get("state") == "Running")
    empi(*commands[1])
    run.wait_for("d to run", lambda: run.status("d").get("state") == "Running")
    lines = empi(*commands[2]).stdout.splitlines()
    assert lines[0].startswith("queue local  4 of 4 CPUs held") and len(lines) == 5, lines
    empi(*commands[3])
    run.wait_for("the end of b", lambda: "job b: Failed" in run.text())
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 1, run.text()


def many_refused():
    """What is wrong with one of them is said before anything is started."""
    good = manifest("good", HELLO)
    (WORK / "copy.yaml").write_text(good.read_text())
    twice = empi("run", good, WORK / "copy.yaml", check=False)
    assert twice.returncode == 2 and len(twice.stderr.splitlines()) == 1, twice
    assert "copy.yaml: metadata.name: 'good' is the name of the job in" in twice.stderr, twice
    folder = empi("run", good, WORK, "--queue", WORK, check=False)
    assert folder.returncode == 2 and "cannot be read, expected a file" in folder.stderr, folder
    pipe = WORK / "pipe.yaml"
    os.mkfifo(pipe)
    for piped in (empi("run", pipe, check=False), empi("run", good, "--queue", pipe, check=False)):
        assert piped.returncode == 2 and "is a pipe or a device" in piped.stderr, piped
    nothing = empi("run", WORK / ("a" * 300), check=False)  # nor can anybody ask what it is
    assert nothing.returncode == 2 and "cannot be read, expected a file" in nothing.stderr, nothing
    bad = manifest("bad", HELLO, least=9)
    wrong = empi("run", good, bad, check=False)
    assert wrong.returncode == 2 and "bad.yaml" in wrong.stderr and "minReplicas" in wrong.stderr, wrong
    assert not (WORK / "state").exists(), "nothing was started"
    large = manifest("large", ENDLESS, replicas=3, least=3)
    small = empi("run", good, large, "--workers", 2, check=False)
    assert small.returncode == 2 and len(small.stderr.splitlines()) == 1, small
    assert "needs at least 3 workers" in small.stderr and "--workers" in small.stderr, small
    assert not (WORK / "state").exists(), "nothing was started"
    late = Run(good, manifest("later", HELLO), arguments=["--stagger", 3600])
    late.wait_for("the end of good", lambda: "job good: Succeeded" in late.text())
    late.process.send_signal(signal.SIGINT)
    assert late.wait() == 1 and "job later: not started" in late.text(), late.text()


def many_kept():
    """What earlier runs have left stays where a run is refused, and no two jobs that run share a folder of results."""
    early, busy = manifest("early", HELLO, replicas=1, rigid=True), manifest("busy", ENDLESS, replicas=1)
    empi("run", early)
    before = {path.name: path.read_bytes() for path in (WORK / "early-out").iterdir()}
    run = Run(busy, arguments=["--workers", 2])
    run.wait_for_size(1)
    twice = empi("run", early, busy, check=False)
    assert twice.returncode == 1 and "busy): wait for it" in twice.stderr, twice
    (WORK / "file").write_text("")
    nowhere = empi("run", early, "--out", WORK / "file", check=False)
    assert nowhere.returncode == 1 and "choose another one with --out" in nowhere.stderr, nowhere
    assert {path.name: path.read_bytes() for path in (WORK / "early-out").iterdir()} == before
    assert "early  Succeeded" in empi("why", "early").stdout
    for words in (["run", early], ["submit", early]):
        shared = empi(*words, "--out", run.out, check=False)
        assert shared.returncode == 1 and "another job that runs writes its results there" in shared.stderr, shared
    assert "early  Succeeded" in empi("why", "early").stdout
    empi("submit", early, "--out", WORK / "early-out")
    run.wait_for("the end of early", lambda: "job early: Succeeded" in run.text())
    run.process.send_signal(signal.SIGINT)
    assert run.wait() == 1 and run.summary()["job"] == "busy", run.text()

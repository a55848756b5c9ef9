# SPDX-License-Identifier: Apache-2.0
"""Cases of run_test.py: sizes that a policy finds, or keeps to."""
import re

from job_run import ENDLESS, WORK, Run, documented, empi, manifest


def random_policy():
    extra = """  autoscaling:
    mode: Auto
    policy: {name: random, random: {seed: 5, intervalSeconds: 2}}
"""
    run = Run(manifest("jacobi", ENDLESS, replicas=0, most=3, extra=extra))
    run.wait_for("three changes", lambda: run.text().count(" workers in ") + run.text().count(" worker in ") >= 3)
    assert "draw " in empi("history", "jacobi").stdout
    empi("cancel", "jacobi")
    assert run.wait() == 1
    summary = run.summary()
    assert sum(c["outcome"] == "committed" for c in summary["changes"]) >= 3, summary
    sizes = {d["to"] for d in summary["decisions"] if d["action"] == "Scale"}
    assert sizes and sizes <= {1, 2, 3}, summary["decisions"]


def constant_work():
    """Work that does not change must not make the controller move, although it may and measures enough to do so.

    The job runs well at its largest size: a controller that took noise for a trend would shrink it (and then grow it
    again). That it does not flap in the middle of its range is tested in closed loop, without a machine's noise.
    """
    extra = """  autoscaling:
    mode: Auto
    policy: {name: threshold, threshold: {lowPercent: 10, highPercent: 200, noisePercent: 10}}
    windowSeconds: 1
    windows: 3
    cooldownSeconds: 1
    scaleUpStabilizationSeconds: 1
    scaleDownStabilizationSeconds: 1
    maxErrorPercent: 50
  local: {slowdownFactor: 8}
"""
    work = ["empi-jacobi", "--n", "512", "--iterations", "70", "--tolerance", "0", "--work-factor", "200"]
    run = Run(manifest("constant", work, replicas=2, least=1, most=2, extra=extra))
    assert run.wait() == 0, run.text()
    assert "emulated: ranks 8x slower" in run.text()
    summary = run.summary()
    assert summary["changes"] == [], summary
    assert any(d["action"] == "Keep" and "MTCT" in d["reason"] for d in summary["decisions"]), summary["decisions"]
    assert summary["cpu_seconds"] == summary["core_seconds"]


FINDS_ITS_SIZE = """  autoscaling:
    mode: Auto
    policy: {name: efficiency}
    windowSeconds: 1
    windows: 3
    minIterations: 3
    maxErrorPercent: 50
    cooldownSeconds: 1
    scaleUpStabilizationSeconds: 1
    scaleDownStabilizationSeconds: 1
"""


def settles(path, sizes):
    """The job runs until policy efficiency has settled at one of these sizes, and says so."""
    run = Run(path)
    stay = [f"stay at {size} workers" for size in sizes]
    run.wait_for(f"settled at one of {sizes}", lambda: any(
        d["action"] == "Keep" and any(text in d["reason"] for text in stay) for d in run.status().get("decisions", [])))
    history = empi("history", path.stem).stdout
    print(history)
    empi("cancel", path.stem)
    assert run.wait() == 1, run.text()
    scaled = [d for d in run.summary()["decisions"] if d["action"] == "Scale"]
    assert scaled and all(d["iteration_s"] > 0 and d["predicted_s"] > 0 for d in scaled), run.summary()["decisions"]
    assert "an iteration takes" in history, history


def communication_bound():
    """Slow links, little to compute: started on all workers, it settles on few.

    Two rows of 2 kB an iteration take 16 ms at 2 Mbit/s, all the arithmetic less than 1 ms. The whole grid is 512 kB,
    so that a change of size, which moves it over the same links, costs a second or two and not the case's patience.
    """
    work = ["empi-jacobi", "--n", "256", "--iterations", "1000000000", "--tolerance", "0"]
    settles(manifest("slowlinks", work, replicas=4, least=1, most=4, extra=FINDS_ITS_SIZE +
                     "  local: {slowdownFactor: 2, networkMegabitsPerSecond: 2}\n"), [1, 2])


def compute_bound():
    """Much to compute on slow cores: started on one worker, it settles on all.

    An iteration takes about a second on one: a busy machine delays messages by some hundredths of that.
    """
    work = ["empi-jacobi", "--n", "256", "--iterations", "1000000000", "--tolerance", "0", "--work-factor", "1000"]
    settles(manifest("slowcores", work, replicas=0, least=1, most=4, extra=FINDS_ITS_SIZE.replace(
        "windowSeconds: 1\n    windows: 3", "windowSeconds: 3\n    windows: 1") + "  local: {slowdownFactor: 16}\n"), [4])


def documented_deadline():
    """The commands of docs/scheduling.md: on one worker the job would be late, so it gets more; a deadline that is over is
    refused; what it has measured tells what its policy, and a looser one, would have decided."""
    commands = documented("scheduling.md", "Deadlines and budgets")
    assert [words[0] for words in commands] == ["run", "why"], commands
    work = ["empi-jacobi", "--n", "256", "--iterations", "2000", "--tolerance", "0", "--work-factor", "40"]
    wanted = FINDS_ITS_SIZE.replace("efficiency", "deadline").replace("windows: 3", "windows: 1")
    late = manifest("late", work, extra=wanted + "  scheduling: {deadline: \"2020-01-31T12:00:00Z\"}\n")
    refused = empi("run", late, check=False)
    assert refused.returncode == 2 and "spec.scheduling.deadline: is 2020-01-31T12:00:00Z, which is over" in refused.stderr, refused
    manifest("deadline", work, replicas=0, least=1, most=4, extra=wanted +
             "  scheduling: {deadlineSeconds: 50}\n  local: {slowdownFactor: 16}\n")
    run = Run(*[WORK / word for word in commands[0][1:]])
    run.wait_for("another worker", lambda: run.status().get("joinedReplicas", 0) > 1)
    run.wait_for("a forecast", lambda: "forecast" in run.status())
    status = run.status()
    assert status["forecast"]["source"] == "Progress" and status["forecast"]["finish"], status["forecast"]
    assert status["cost"]["perHour"] >= 1 and status["cost"]["workers"] >= 1, status["cost"]
    assert "policy deadline" in empi(*commands[1]).stdout
    empi("cancel", "deadline")
    assert run.wait() == 1, run.text()
    assert any(d["policy"] == "deadline" and d["action"] == "Scale" for d in run.summary()["decisions"]), run.summary()
    replay = documented("scheduling.md", "The simulator")
    assert replay == [["simulate", "--replay", "tsunami-out", "deadline.yaml"]], replay
    run.out.rename(WORK / "tsunami-out")
    told = empi(*replay[0]).stdout
    assert re.search(r"[1-9]\d* windows of 1 s, another size was wanted [1-9]\d* times", told), told
    path = WORK / "deadline.yaml"
    path.write_text(path.read_text().replace("deadlineSeconds: 50", "deadlineSeconds: 86400"))
    loose = empi(*replay[0]).stdout
    assert " windows of 1 s, another size was wanted " in loose and loose != told, loose


def long_queue():
    """A master-worker program with a long queue grows, and its status says when the phase will be over."""
    work = ["empi-mandelbrot", "--width", "1024", "--height", "20000", "--iterations", "20000"]
    run = Run(manifest("queue", work, replicas=0, least=1, most=2, extra=FINDS_ITS_SIZE.replace(
        "efficiency", "tasks") + "  local: {slowdownFactor: 8}\n"))
    run.wait_for_size(2)
    run.wait_for("a predicted finish", lambda: "predictedFinish" in run.status().get("tasks", {}))
    assert run.status()["tasks"]["total"] == 20000, run.status()
    assert "of 20000 tasks done" in empi("top", "queue").stdout
    empi("cancel", "queue")
    assert run.wait() == 1, run.text()
    assert any(d["policy"] == "tasks" and d["action"] == "Scale" for d in run.summary()["decisions"]), run.summary()

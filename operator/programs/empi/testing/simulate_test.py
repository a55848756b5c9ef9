#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""empi simulate: the same trace and seed leave the same files; what is wrong is said in one line, with exit status 2.
Usage: simulate_test.py EMPI [REPORT]    REPORT is empi-queue-report, where applications are built"""
import csv
import json
import lzma
import pathlib
import random
import subprocess
import sys
import tempfile

EMPI = sys.argv[1]
REPORT = sys.argv[2] if len(sys.argv) > 2 else ""
FILES = {"summary.json", "jobs.csv", "jobs-easy.csv", "jobs-moldable.csv", "timeline.csv", "decisions.log", "schedule.swf"}


def trace(jobs):
    """A machine of 32 processors with too much to do."""
    draw = random.Random(1)
    lines, submit = ["; MaxProcs: 32"], 0
    for number in range(1, jobs + 1):
        submit += draw.randrange(400)
        run = draw.randrange(1, 2000)
        size = 2 ** draw.randrange(6)
        lines.append(f"{number} {submit} -1 {run} {size} -1 -1 {size} {run * 3} -1 1 1 -1 -1 -1 -1 -1 -1")
    lines.append("9999 0 -1 10 64 -1 -1 64 10 -1 1 1 -1 -1 -1 -1 -1 -1")
    return "\n".join(lines) + "\n"


def empi(*words, status=0):
    done = subprocess.run([EMPI, "simulate", *map(str, words)], capture_output=True, text=True, timeout=50)
    assert done.returncode == status, (words, done)
    if status:
        assert done.stderr.startswith("empi simulate: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr if status else done.stdout


def by_queue(folder, plain):
    """The rules and the size of a queue are those of its manifest, which says what no trace can show."""
    manifest = folder / "queue.yaml"

    def queue(rest="", pools="[{name: p, quota: {cpu: 34}, headroom: {cpu: 2}}]"):
        manifest.write_text("apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: main}\n"
                            f"spec:\n  pools: {pools}\n{rest}")
        return "--queue", manifest

    assert empi(plain, *queue()) == empi(plain), "its defaults are those of the command"
    assert empi(plain, *queue("  backfill: none\n")) == empi(plain, "--backfill", "none") != empi(plain)
    assert empi(plain, *queue("  backfill: none\n"), "--backfill", "easy") == empi(plain)
    assert empi(plain, *queue("  growth: {cooldownSeconds: 86400}\n")) != empi(plain)
    table = empi(plain, *queue(pools="[{name: p, quota: {cpu: 16}}]"))
    assert " jobs on 16 processors" in table, table
    assert " jobs on 32 processors" in empi(plain, *queue(pools="[{name: p, capacity: Nodes}]"))
    assert "queue.yaml: spec.hold: nothing would start" in empi(plain, *queue("  hold: Start\n"), status=2)
    assert "leave one pool" in empi(plain, *queue(pools="[{name: p, quota: {cpu: 4}}, {name: q, quota: {cpu: 4}}]"),
                                    status=2)
    assert "less than one CPU" in empi(plain, *queue(pools="[{name: p, quota: {cpu: 480m}}]"), status=2)
    assert "leaves 4294967304 CPUs, and a simulation is of at most 1000000" in empi(
        plain, *queue(pools="[{name: p, quota: {cpu: 4294967304}}]"), status=2)
    assert "queue.yaml:6:" in empi(plain, *queue("  backfill: some\n"), status=2)
    assert "cannot be read" in empi(plain, "--queue", folder / "none.yaml", status=2)


def job(name, scheduling="expectedSeconds: 600", rest="", smallest=1, largest=8):
    return ("apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\n"
            f"metadata: {{name: {name}}}\nspec:\n  scheduling: {{{scheduling}}}\n{rest}"
            f"  worker:\n    minReplicas: {smallest}\n    maxReplicas: {largest}\n"
            "    template: {spec: {containers: [{name: worker, command: [program]}]}}\n")


def rows_of(folder):
    return {row["job"]: row for row in csv.DictReader((folder / "jobs.csv").open())}


def by_manifest(folder, plain):
    """Jobs of manifests, alone and among those of a trace, with the same files."""
    a, b, c = (folder / f"{name}.yaml" for name in "abc")
    a.write_text(job("a", "expectedSeconds: 600, scalability: [{workers: 1, speedPercent: 100}, "
                          "{workers: 8, speedPercent: 800}]"))
    b.write_text(job("b", "expectedSeconds: 300, deadlineSeconds: 400", "  runtime: {mode: Rigid}\n", 4, 4))
    for more in ([], ["--full"]):
        out = folder / ("own" + "".join(more))
        table = empi(a, f"{b}@100", "--workers", 8, "--out", out, *more)
        assert "2 jobs on 8 processors" in table and "\ndeadlines met: easy 100.0 %" in table, table
        rows = rows_of(out)
        assert float(rows["b"]["submit"]) - float(rows["a"]["submit"]) == 100, rows
        assert float(rows["b"]["wait"]) <= 10 and rows["b"]["class"] == "rigid", rows
        assert float(rows["a"]["turnaround"]) < 600 and int(rows["a"]["changes"]) >= 1, rows
        assert rows["a"]["deadline"] == "inf" and float(rows["b"]["deadline"]) == 500, rows
        log = (out / "decisions.log").read_text()
        assert "job a " in log and "yields" in log and "job b " in log, log
        assert "; Note: job 2 is b" in (out / "schedule.swf").read_text()
    assert {path.name for path in out.iterdir()} == FILES | {"jobs-elastic.csv"}
    mixed = folder / "mixed"
    assert "401 jobs on 32 processors" in empi(plain, f"{a}@1000", "--out", mixed)
    assert len(rows_of(mixed)) == 401 and "a" in rows_of(mixed)

    c.write_text(job("c", rest="  autoscaling: {mode: Auto, policy: {name: throughput}}\n"))
    assert "1 jobs on 8 processors" in empi(c, "--workers", 8), "all are in the simulated queue"
    c.write_text(job("c", ""))
    assert "c.yaml: spec.scheduling.expectedSeconds: is missing" in empi(c, "--workers", 8, status=2)
    assert "give --workers N, or --queue FILE" in empi(a, status=2)
    assert "another job 'a'" in empi(a, a, "--workers", 8, status=2)
    assert "as in " in empi(f"{a}@soon", "--workers", 8, status=2)
    assert "none.yaml: cannot be read" in empi(folder / "none.yaml", "--workers", 8, status=2)
    c.write_text(job("c", "expectedSeconds: 9", smallest=12, largest=16))
    assert "the machine has 8 processors: give a larger --workers" in empi(c, "--workers", 8, status=2)
    c.write_text(job("c", "expectedSeconds: 9, queueName: other"))
    assert "the simulated queue is" in empi(*own_queue(folder), c, status=2)
    c.write_text(job("c", "expectedSeconds: 9", "  autoscaling: {mode: Auto}\n"))
    assert "threshold goes by what ranks measure" in empi(c, "--workers", 8, status=2)
    empi(c, "--workers", 8, "--full")
    c.write_text(job("c", "expectedSeconds: 9").replace("minReplicas: 1", "minReplicas: many"))
    assert "c.yaml:" in empi(c, "--workers", 8, status=2)
    assert "is one: leave one of them" in empi(plain, plain, status=2)


def own_queue(folder):
    manifest = folder / "own.yaml"
    manifest.write_text("apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: main}\n"
                        "spec:\n  pools: [{name: p, quota: {cpu: 8}}]\n")
    return "--queue", manifest


def by_model(folder, plain):
    """What jobs are like, what of that the queue knows, and what is compared."""
    exact = empi(plain, "--spread", 20)
    learned = empi(plain, "--spread", 20, "--learn", "online")
    assert exact != empi(plain) and learned not in (exact, empi(plain, "--spread", 20, "--learn", "never"))
    assert learned == empi(plain, "--spread", 20, "--learn", "online", "--noise", 10)
    assert learned != empi(plain, "--spread", 20, "--learn", "online", "--noise", 30)
    assert empi(plain, "--speedup", "amdahl:.8") == empi(plain) != empi(plain, "--speedup", "downey:16,1")
    curve = folder / "curve.csv"
    curve.write_text("workers,speed\n1,1\n8,6\n32,12\n")
    assert empi(plain, "--speedup", curve) != empi(plain)
    curve.write_text("workers,speed\n8,6\n1,1\n")
    assert "curve.csv:3: the numbers of workers are to ascend" in empi(plain, "--speedup", curve, status=2)
    assert "--speedup linear: there are amdahl" in empi(plain, "--speedup", "linear", status=2)
    assert "leave it out, or give --speedup amdahl:.8" in empi(plain, "--speedup", "downey:16,1", "--spread", 9, status=2)
    assert "add --learn online" in empi(plain, "--noise", 5, status=2)
    assert "give online or oracle" in empi(plain, "--full", "--learn", "never", status=2)
    centuries = folder / "centuries.swf"
    centuries.write_text("; MaxProcs: 4\n1 0 -1 1e10 4 -1 -1 4 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n")
    assert "job 1 runs for 115741 days" in empi(centuries, "--full", status=2)
    empi(centuries)

    table = empi(plain, "--policy", "elastic", "--policy", "fcfs", "--policy", "conservative", "--out", folder / "p")
    assert [line.split()[0] for line in table.splitlines()[3:] if " all " in line] == [
        "easy", "elastic", "fcfs", "conservative"], table
    names = {path.name for path in (folder / "p").iterdir()}
    assert names == FILES - {"jobs-moldable.csv"} | {"jobs-elastic.csv", "jobs-fcfs.csv"}, names
    wait = {name: s["all"]["meanWaitSeconds"] for name, s in
            json.loads((folder / "p" / "summary.json").read_text())["schedules"].items()}
    assert wait["elastic"] < wait["conservative"] < wait["fcfs"], wait
    empi(plain, "--policy", "moldable", "--out", folder / "p")
    names = {path.name for path in (folder / "p").iterdir()}
    assert names == FILES - {"jobs-moldable.csv"}, f"of what was compared before none is left: {names}"
    empi(plain, "--policy", "easy", "--out", folder / "e")
    assert (folder / "e" / "decisions.log").read_text().count(" starts with ") == 400
    assert len((folder / "e" / "timeline.csv").read_text().splitlines()) > 400
    assert "--policy fast: there are easy, moldable, elastic, conservative, fcfs" in empi(plain, "--policy", "fast", status=2)


def in_full(folder, plain):
    for name in "xy":
        empi(plain, "--jobs", 60, "--malleable", 60, "--full", "--learn", "online", "--out", folder / name)
    for file in FILES | {"jobs-elastic.csv"}:
        assert (folder / "x" / file).read_bytes() == (folder / "y" / file).read_bytes(), file
    log = (folder / "x" / "decisions.log").read_text()
    for event in (" Allocated: ", " Started: ", " Yielding: ", " Promised: "):
        assert event in log, event


def as_documented(folder):
    """The commands of docs/scheduling.md, on this trace in the place of theirs."""
    page = (pathlib.Path(__file__).parents[4] / "docs/scheduling.md").read_text()
    part = page.split("\n## The simulator\n")[1].split("\n## ")[0]
    commands = [line.split()[4:] for line in part.splitlines() if line.startswith("    ./dev run empi simulate ")]
    assert len(commands) == 6, commands
    queue = page.split("## On Kubernetes")[1].split("    apiVersion: ")[1].split("\n\n")[0]
    (folder / "main.yaml").write_text("apiVersion: " + queue.replace("\n    ", "\n"))
    (folder / "their.swf.xz").write_bytes(lzma.compress(trace(100).encode()))
    manifest = "apiVersion: " + part.split("    apiVersion: ")[1].split("\n\n")[0].replace("\n    ", "\n") + "\n"
    (folder / "a.yaml").write_text(manifest)
    (folder / "b.yaml").write_text(manifest.replace("{name: a}", "{name: b}"))
    for words in commands:
        theirs = ["their.swf.xz" if word.startswith("KTH-SP2") else word for word in words]
        done = subprocess.run([EMPI, "simulate", *theirs], cwd=folder, capture_output=True, text=True)
        of_trace, own = 100 * ("their.swf.xz" in theirs), sum(".yaml" in word for word in words if word != "main.yaml")
        size = 32 if of_trace else 16
        assert done.returncode == 0 and f"{of_trace + own} jobs on {size} processors" in done.stdout, (words, done)
    assert all((folder / out / "summary.json").exists() for out in ("kth", "mine", "full"))
    reports = [line.split()[3:] for line in part.splitlines() if line.startswith("    ./dev run empi-queue-report ")]
    assert reports == [["kth"]], reports
    pictures = {"utilisation.png", "waits.png", "sizes.png", "gantt.png"}
    assert all(f"`{picture}`" in part for picture in pictures), "they are named there"
    if REPORT:
        done = subprocess.run([REPORT, *reports[0]], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and set(done.stdout.split()) == {f"kth/{name}" for name in pictures}, done
        assert all((folder / "kth" / name).stat().st_size > 1000 for name in pictures)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain, packed = folder / "t.swf", folder / "t.swf.xz"
        plain.write_text(trace(400))
        packed.write_bytes(lzma.compress(plain.read_bytes()))
        table = empi(packed, "--malleable", 60, "--seed", 3, "--out", folder / "a")
        assert "left out: 1 larger than the machine" in table, table
        empi(packed, "--malleable", 60, "--seed", 3, "--out", folder / "b")
        empi(packed, "--malleable", 60, "--seed", 4, "--out", folder / "c")
        for file in FILES:
            assert (folder / "a" / file).read_bytes() == (folder / "b" / file).read_bytes(), file
        assert {path.name for path in (folder / "a").iterdir()} == FILES
        assert (folder / "a" / "jobs.csv").read_bytes() != (folder / "c" / "jobs.csv").read_bytes()
        figures = json.loads((folder / "a" / "summary.json").read_text())
        assert figures["jobs"] == 400 and figures["leftOut"]["tooLarge"] == 1, figures
        turnaround = {name: s["all"]["meanTurnaroundSeconds"] for name, s in figures["schedules"].items()}
        assert turnaround["elastic"] < turnaround["easy"], turnaround
        assert "yields" in (folder / "a" / "decisions.log").read_text()
        empi(folder / "a" / "schedule.swf", "--jobs", 50)
        table = empi(plain, "--deadline", 1.5, "--price", .04, "--out", folder / "d")
        assert "\ndeadlines met: easy " in table and "\ncost: easy " in table, table
        met = {name: s["all"]["deadlinesMet"] for name, s in
               json.loads((folder / "d" / "summary.json").read_text())["schedules"].items()}
        assert met["elastic"] > met["easy"], met
        costs = {name: s["all"] for name, s in
                 json.loads((folder / "d" / "summary.json").read_text())["schedules"].items()}
        assert all(abs(s["cost"] - .04 * s["processorHours"]) < 1e-6 for s in costs.values()), costs
        rows = list(csv.DictReader((folder / "d" / "jobs.csv").open()))
        late = sum(float(row["end"]) > float(row["deadline"]) for row in rows)
        assert abs(1 - late / len(rows) - met["elastic"]) < 1e-6, (late, met)

        by_queue(folder, plain)
        by_manifest(folder, plain)
        by_model(folder, plain)
        in_full(folder, plain)
        as_documented(folder)

        packed.write_bytes(packed.read_bytes()[:-30])
        assert "is cut off or damaged" in empi(packed, status=2)
        plain.write_text(trace(3) + "4 x\n")
        assert "t.swf:6: field 2 (submit time): expected a number, found 'x'" in empi(plain, status=2)
        plain.write_text(trace(3).replace("; MaxProcs", "; Max"))
        assert "give --workers N" in empi(plain, status=2)
        assert "cannot be opened" in empi(folder / "none.swf", status=2)
        plain.write_text(trace(3))
        assert "--out: cannot make the folder" in empi(plain, "--out", plain, status=2), "before it simulates"


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""empi simulate: the same trace and seed leave the same files; what is wrong is said in one line, with exit status 2.
Usage: simulate_test.py EMPI"""
import csv
import json
import lzma
import pathlib
import random
import subprocess
import sys
import tempfile

EMPI = sys.argv[1]
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
    assert "queue.yaml:6:" in empi(plain, *queue("  backfill: some\n"), status=2)
    assert "cannot be read" in empi(plain, "--queue", folder / "none.yaml", status=2)


def as_documented(folder):
    """The commands of docs/scheduling.md, on this trace in the place of theirs."""
    page = (pathlib.Path(__file__).parents[4] / "docs/scheduling.md").read_text()
    part = page.split("\n## The simulator\n")[1].split("\n## ")[0]
    commands = [line.split()[4:] for line in part.splitlines() if line.startswith("    ./dev run empi simulate ")]
    assert len(commands) == 2 and all(words[0].startswith("KTH-SP2") for words in commands), commands
    queue = page.split("## On Kubernetes")[1].split("    apiVersion: ")[1].split("\n\n")[0]
    (folder / "main.yaml").write_text("apiVersion: " + queue.replace("\n    ", "\n"))
    (folder / "their.swf.xz").write_bytes(lzma.compress(trace(100).encode()))
    for words in commands:
        done = subprocess.run([EMPI, "simulate", "their.swf.xz", *words[1:]], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and "100 jobs on 32 processors" in done.stdout, (words, done)
    assert (folder / "kth/summary.json").exists()


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
        as_documented(folder)

        packed.write_bytes(packed.read_bytes()[:-30])
        assert "is cut off or damaged" in empi(packed, status=2)
        plain.write_text(trace(3) + "4 x\n")
        assert "t.swf:6: field 2 (submit time): expected a number, found 'x'" in empi(plain, status=2)
        plain.write_text(trace(3).replace("; MaxProcs", "; Max"))
        assert "give --workers N" in empi(plain, status=2)
        assert "cannot be opened" in empi(folder / "none.swf", status=2)


main()

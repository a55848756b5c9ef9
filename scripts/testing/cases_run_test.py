#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What e2e/cases/run.sh says of cases that fail, and scripts/ci_summary.py of what run.sh said; which restarts of the operator
fail a case.

Usage: cases_run_test.py SOURCE-FOLDER
"""
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
CASES = {
    "good": "true",
    "busy": "[[ -e second ]] || { touch second; echo 'e2e: gave up waiting'; exit 1; }",
    "broken": "echo 'e2e: never so'; exit 1",
    "after": "#!\n#\n#\n# alone: it stops others",
    "beside": "[[ ! -e $EMPI_CASE_CLAIMS/.alone ]]",
    "by_itself": "#!\n#\n#\n# alone: it stops others\n[[ -e $EMPI_CASE_CLAIMS/.alone ]]",
    "not_yet": "#!\n#\n#\n# alone: it stops others\n[[ ! -e $EMPI_CASE_CLAIMS/.alone ]]",
    "late": "#!\n#\n#\n# alone: it stops others\n# long: it takes its time",
    "late_beside": "#!\n#\n#\n# long: it takes its time",
}


def run(names, once_more, claimed=(), together=("one",), **settings):
    """Status, output and what the summary says of it; another cluster has CLAIMED some of the cases. This one is `one`; those that
    run cases beside each other are TOGETHER."""
    with tempfile.TemporaryDirectory() as folder:
        cases = pathlib.Path(folder) / "e2e" / "cases"
        (cases / "some").mkdir(parents=True)
        (cases / "run.sh").symlink_to(source / "e2e/cases/run.sh")
        for name in names:
            (cases / "some" / f"{name}.sh").write_text(CASES[name] + "\n")
        claims = pathlib.Path(folder) / "claims"
        claims.mkdir()
        for name in claimed:
            (claims / name).mkdir()
        for cluster in together:
            (claims / f".together-{cluster}").touch()
        environment = {**os.environ, "EMPI_CLUSTER": "one", "EMPI_ONCE_MORE": once_more, "EMPI_CASE_CLAIMS": str(claims), **settings}
        ended = subprocess.run(["bash", cases / "run.sh", "some"], env=environment, text=True, timeout=60,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        log = pathlib.Path(folder) / "log"
        log.write_text(ended.stdout)
        summary = subprocess.run([sys.executable, source / "scripts/ci_summary.py", folder, log], text=True, capture_output=True,
                                 timeout=60, check=True)
        return ended.returncode, ended.stdout, summary.stdout


def expect(what, true, *seen):
    if not true:
        sys.exit("\n".join([f"not so: {what}", *map(str, seen)]))


status, said, summary = run(["good", "busy"], "3")
expect("a case that ends well alone does not fail the run", status == 0, said)
expect("it is said", "case busy unsteady" in said and "1 ok, 0 failed, 0 skipped, 1 unsteady" in said, said)
expect("and what it said at first", "ci: unsteady: busy\n  |   busy: e2e: gave up waiting" in summary, summary)

status, said, summary = run(["good", "broken", "busy"], "3")
expect("a case that fails twice fails the run", status == 1 and said.count("case broken FAILED") == 2, said)
expect("its reason is said", "ci: failed: broken\n  |   broken: e2e: never so" in summary, summary)
expect("cases are counted once", "ci: 3 cases, 1 failed" in summary, summary)

status, said, _ = run(["good", "broken", "busy"], "1")
expect("many that fail are not tried again", status == 1 and said.count("case busy ") == 1, said)
status, said, _ = run(["busy"], "")
expect("nor is any, unless told so", status == 1 and said.count("case busy ") == 1, said)
status, said, _ = run(["good"], "many")
expect("a number is refused that is none", status == 2 and "no number from 0 to 9" in said, said)

status, said, _ = run(["after", "good", "late", "late_beside"], "", EMPI_CASES_AT_ONCE="1")
expect("a long case is the first of its kind",
       [line.split()[1] for line in said.splitlines() if line.startswith("case ")] == ["late_beside", "good", "late", "after"], said)
status, said, summary = run(["after", "good", "late"], "", claimed=["good", "late"])
expect("what another cluster has taken is left to it", status == 0 and "case after ok" in said and "1 cases, 0 failed" in summary, said)
status, said, _ = run(["by_itself", "beside"], "")
expect("others are told when cases no longer run beside each other", status == 0, said)
status, said, _ = run(["not_yet"], "", together=("one", "two"))
expect("but not while they do on another cluster", status == 0, said)


def crashes(before, after):
    """Of pods (uid, restarts, last exit status) before and after a case."""
    texts = ["\n".join(" ".join(map(str, pod)) for pod in pods) for pods in (before, after)]
    script = f"set -euo pipefail; source {source}/e2e/cases/cluster/lib/log.sh; crashes \"$1\" \"$2\""
    return int(subprocess.run(["bash", "-c", script, "-", *texts], text=True, timeout=60, check=True, stdout=subprocess.PIPE).stdout)


quiet = [("one", 0, ""), ("two", 3, 139)]
for what, after, expected in [
        ("an operator that goes on is none", quiet, 0),
        ("nor is one that gave up its lease", [("one", 1, 75), ("two", 3, 139)], 0),
        ("nor is one that crashed before and now gave up its lease", [("one", 0, ""), ("two", 4, 75)], 0),
        ("a signal is one", [("one", 1, 139), ("two", 3, 139)], 1),
        ("an exit that nobody planned is one", [("one", 1, 1), ("two", 3, 139)], 1),
        ("so is a clean exit, which the kubelet asks for where it gets no answer", [("one", 1, 0), ("two", 3, 139)], 1),
        ("so is one of a pod that is new", [("one", 0, ""), ("three", 1, 137)], 1),
        ("so is one that is hidden by another after it", [("one", 2, 75), ("two", 3, 139)], 1),
        ("both count", [("one", 1, 134), ("two", 5, 1)], 3)]:
    expect(f"of the operator's crashes: {what}", crashes(quiet, after) == expected, after, crashes(quiet, after))
expect("without an operator there is none", crashes([], []) == 0)

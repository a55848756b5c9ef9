#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders whose names mean something to a shell, to sed or to YAML are folders like others to the scripts.

Usage: names_of_folders_test.py PROJECT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cases import run_cases

PROJECT = pathlib.Path(sys.argv[1])
WORK = pathlib.Path(tempfile.mkdtemp(prefix="empi-names."))
FOLDER = WORK / r"R&D | it's: #1 \1"


def program(name, script):
    """A program of ours, or one that is fetched with, in its place."""
    folder = WORK / "programs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n" + script)
    (folder / name).chmod(0o755)


def run(script, *words, **environment):
    path = f"{WORK}/programs:{os.environ['PATH']}"
    return subprocess.run(["bash", script, *words], env=os.environ | {"PATH": path} | environment, cwd=WORK, text=True,
                          timeout=60, capture_output=True, stdin=subprocess.DEVNULL)


def the_demo_finds_its_files():
    checkout, data = FOLDER / "checkout", FOLDER / "data"
    for name in ("scripts/demo.sh", "apps/tsunami/tohoku2011.yaml"):
        (checkout / name).parent.mkdir(parents=True)
        shutil.copy2(PROJECT / name, checkout / name)
    (data / "tohoku2011").mkdir(parents=True)
    (data / "tohoku2011/etopo5.cdf").touch()
    program("empi", "exit 0\n")
    program("empi-tsunami-report", "exit 0\n")
    out = WORK / "out"
    ended = run(checkout / "scripts/demo.sh", "tohoku", "--out", str(out), EMPI_DATA=str(data))
    assert ended.returncode == 0, ended
    job = [line.strip() for line in (out / "job.yaml").read_text().splitlines()]
    in_yaml = str(FOLDER).replace("'", "''")
    for argument in (f"--topography={in_yaml}/data/tohoku2011/etopo5.cdf",
                     f"--faults={in_yaml}/checkout/apps/tsunami/tohoku2011-rupture.csv"):
        assert f"- '{argument}'" in job, (argument, job)


def what_cannot_be_fetched_leaves_nothing():
    data = FOLDER / "fetched"
    program("curl", 'while [ "$1" != --output ]; do shift; done\necho half >"$2"\nexit 22\n')
    ended = run(PROJECT / "scripts/fetch_data.sh", "chile2010", EMPI_DATA=str(data))
    lines = ended.stderr.splitlines()
    assert ended.returncode == 2 and len(lines) == 1 and "could not fetch" in lines[0], ended
    assert not list((data / "chile2010").iterdir()), list((data / "chile2010").iterdir())


run_cases([the_demo_finds_its_files, what_cannot_be_fetched_leaves_nothing], WORK)

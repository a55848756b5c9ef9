#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user's own programs, built by CMake and by make against what is installed in a prefix, and run there: alone, under
mpirun, and as jobs of `empi run` that are resized from 1 to 2 workers and back.

Usage: own_program.py PREFIX SOURCES    SOURCES is a copy of external/; PREFIX may be /usr. Builds in SOURCES.
"""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

PREFIX, SOURCES = map(pathlib.Path, sys.argv[1:])
LIBRARIES = PREFIX / "lib" / f"{platform.machine()}-linux-gnu"
PATIENCE = 180  # s; the machine may be busy
ENVIRONMENT = {**os.environ, "EMPI_STATE_DIR": str(SOURCES / "state"), "PATH": f"{PREFIX}/bin:{os.environ['PATH']}"}
IN_THE_SYSTEM = PREFIX == pathlib.Path("/usr")
if not IN_THE_SYSTEM:
    ENVIRONMENT |= {"PKG_CONFIG_PATH": str(LIBRARIES / "pkgconfig"), "LD_LIBRARY_PATH": str(LIBRARIES)}


def run(*command, **options):
    print("$", *command, flush=True)
    result = subprocess.run(list(map(str, command)), env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE,
                            **options)
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def build():
    """Folders with the built programs. CMake is given the prefix only where it would not look by itself."""
    shutil.copytree(SOURCES, made := SOURCES / "by-make")
    by_cmake = SOURCES / "by-cmake"
    where = [] if IN_THE_SYSTEM else [f"-DCMAKE_PREFIX_PATH={PREFIX}"]
    for part, names in (".", ["own"]), ("more", ["own-tasks", "own-c"]):
        run("make", "-C", made / part)
        run("cmake", "-S", SOURCES / part, "-B", by_cmake / part, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            *where)
        run("cmake", "--build", by_cmake / part)
        for folder in made / part, by_cmake / part:
            for name in names:
                comes_first(folder / name)
    run("make", "-C", made / "more", "own-loop")
    comes_first(made / "more" / "own-loop")
    return made, by_cmake


def components():
    """checkpoint is found where HDF5 is, and a word that is none is refused."""
    for words, status in ("REQUIRED COMPONENTS checkpoint", 0), ("REQUIRED COMPONENTS checkpoints", 1), ("OPTIONAL_COMPONENTS checkpoints", 0):
        folder = SOURCES / "components"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(ElasticMPI {words})\n"
            "if(ElasticMPI_checkpoint_FOUND AND NOT TARGET ElasticMPI::checkpoint)\n  message(FATAL_ERROR lie)\nendif()\n")
        where = [] if IN_THE_SYSTEM else [f"-DCMAKE_PREFIX_PATH={PREFIX}"]
        result = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", *where], env=ENVIRONMENT, capture_output=True, text=True,
                                timeout=PATIENCE)
        if words == "REQUIRED COMPONENTS checkpoint" and "libhdf5-dev" in result.stderr:
            continue  # it says so
        assert (result.returncode != 0) == (status != 0), (words, result.stdout, result.stderr)


def comes_first(program):
    """libelastic_mpi stands before libmpi: else MPI's own calls would be called, and nothing would ever change."""
    dynamic = run("readelf", "--dynamic", program)
    needed = [line.split("[")[1].split("]")[0] for line in dynamic.splitlines() if "(NEEDED)" in line]
    order = [name for name in needed if name.startswith(("libelastic_mpi.", "libmpi."))]
    assert re.fullmatch(r"libelastic_mpi\.so\.\d+", order[0]) and order[1:] in ([], ["libmpi.so.40"]), (program, needed)


def alone_and_under_mpirun(folder):
    mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", "2"]
    for start in [], mpirun:
        assert run(*start, folder / "own") == "own: 1 worlds, 100 steps, sum 100000\n"
        assert run(*start, folder / "more" / "own-tasks") == "own-tasks: 1000 tasks, sum 332833500\n"
        assert run(*start, folder / "more" / "own-c") == "own-c: 1 worlds, 100 steps, sum 100000\n"


def resized(folder, name):
    """As the guide does it: the program on PATH, the size from another terminal, 1 -> 2 -> 1."""
    manifest = folder / f"{name}.yaml"
    text = (SOURCES / "own.yaml").read_text().replace("name: own", f"name: {name}").replace("[own,", f"[{name},")
    manifest.write_text(text)
    environment = {**ENVIRONMENT, "PATH": f"{folder}:{ENVIRONMENT['PATH']}"}
    environment.pop("LD_LIBRARY_PATH", None)  # the agent knows where the library is
    out, status_file = folder / f"{name}-out", SOURCES / "state" / name / "status.json"
    print("$ empi run", manifest, flush=True)
    with (folder / f"{name}.log").open("w+") as log:
        job = subprocess.Popen(["empi", "run", manifest, "--out", out], env=environment, stdout=log,
                               stderr=subprocess.STDOUT, cwd=folder)
        said = lambda: (folder / f"{name}.log").read_text()
        try:
            end = time.monotonic() + PATIENCE
            for size in 1, 2, 1:
                if size != 1 or status_of(status_file).get("joinedReplicas") == 2:
                    run("empi", "scale", name, size)
                while (now := status_of(status_file)).get("joinedReplicas") != size or now.get("state") != "Running":
                    if size == 1 and now.get("state") == "Succeeded":
                        break
                    assert job.poll() in (None, 0) and time.monotonic() < end, f"{size} workers: {now}\n{said()}"
                    time.sleep(0.05)
            assert job.wait(PATIENCE) == 0, said()
        finally:
            job.kill()
    lines = [line for line in said().splitlines() if f"{name}: 3 worlds" in line]
    assert len(lines) == 1, said()
    steps, total = lines[0].split(" worlds, ")[1].split(" steps, sum ")
    assert int(total) == 1000 * int(steps) and int(steps) >= 100, lines
    changes = [(change["outcome"]) for change in json.loads((out / "summary.json").read_text())["changes"]]
    assert changes == ["committed", "committed"], changes
    print(lines[0], flush=True)


def status_of(file):
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        return {}


made, by_cmake = build()
components()
for folder in made, by_cmake:
    alone_and_under_mpirun(folder)
assert run(made / "more" / "own-loop") == "own-loop: 100 steps, sum 100000\n"
resized(by_cmake, "own")
resized(made / "more", "own-c")

# SPDX-License-Identifier: Apache-2.0
"""The outer half of ./dev again, with the root that a test is in: for the tests of ./dev."""
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(sys.argv[1])
DEV = PROJECT / "dev"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="empi-dev."))
PATIENCE = 300  # s; the machine may be busy
# What the run of tests around this was told (EMPI_PRESET, ...) is not for the calls in here.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("EMPI_") and name != "TMPDIR"}
ENVIRONMENT |= {"EMPI_CACHE": "/cache", "HOME": str(WORK)}
PRIVATE = ["/usr/bin/unshare", "--mount", "--"]  # mounts of a case are its own


def run(*words, before=(), cwd=None, **environment):
    return subprocess.run([*before, DEV, *words], env=ENVIRONMENT | environment, cwd=cwd or WORK, text=True, timeout=PATIENCE,
                          capture_output=True, stdin=subprocess.DEVNULL)


def refused(result, *said):
    lines = [line for line in result.stderr.splitlines() if not line.startswith("dev:   ")]
    assert result.returncode == 2 and not result.stdout and len(lines) == 1, result
    assert all(word in lines[0] for word in said), (said, lines[0])


def runs(result, output=""):
    assert (result.returncode, result.stdout) == (0, output), result


def programs_instead(name, without=(), **scripts):
    """A folder of this machine's programs, without some, and with scripts of a shell in the place of others."""
    folder = WORK / name
    folder.mkdir()
    for file in pathlib.Path("/usr/bin").iterdir():
        if file.name not in scripts and file.name not in without:
            (folder / file.name).symlink_to(file)
    for program, script in scripts.items():
        (folder / program).write_text("#!/bin/sh\n" + script)
        (folder / program).chmod(0o755)
    return str(folder)


def in_bash(script, *words):
    """`script`, which may source what ./dev consists of, with those words as its arguments."""
    return subprocess.run(["bash", "-euc", script, "-", *words], env=ENVIRONMENT, cwd=WORK, capture_output=True, text=True,
                          timeout=PATIENCE)

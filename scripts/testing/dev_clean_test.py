#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev clean removes what nobody needs from a cache, or all that ./dev has put there; what is in use stays, and what is
not ours. Caches are made here; none is that of the root that we are in.

Usage: dev_clean_test.py PROJECT [CASE...]
"""
import fcntl
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from cases import run_cases

PROJECT = pathlib.Path(sys.argv[1])
WORK = pathlib.Path(tempfile.mkdtemp(prefix="empi-clean."))
PATIENCE = 300  # s; the machine may be busy
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("EMPI_")} | {"HOME": str(WORK)}
OTHER = "root-trixie-000000000000"  # of a list of packages that there is no more


def start(cache, *words, **environment):
    return subprocess.Popen([PROJECT / "dev", "clean", *words], env=ENVIRONMENT | {"EMPI_CACHE": str(cache)} | environment, text=True,
                            cwd=WORK, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def clean(cache, *words, **environment):
    running = start(cache, *words, **environment)
    _, said = running.communicate(timeout=PATIENCE)
    return running.returncode, said


def cleaned(cache, *words, **environment):
    status, said = clean(cache, *words, **environment)
    assert status == 0, said
    return said


def refused(cache, *words, said):
    before = {path for path in cache.rglob("*") if path.name != "lock"}
    status, text = clean(cache, *words)
    assert status == 2 and len(text.splitlines()) == 1 and all(word in text for word in said), (status, text)
    assert {path for path in cache.rglob("*") if path.name != "lock"} == before, "and something is gone"


def roots_in_use_of(checkout, **environment):
    """The names of those that ./dev makes for it."""
    script = f"""project={checkout}; source $project/scripts/root.sh; basename "$root"
        choose_root packages-e2e.txt; basename "$root"; EMPI_WITH="$EMPI_WITH $calico_packages"; EMPI_WITH="${{EMPI_WITH# }}"
        choose_root packages-e2e.txt; basename "$root\""""
    said = subprocess.run(["bash", "-euc", script], env=ENVIRONMENT | {"EMPI_WITH": ""} | environment, check=True, text=True,
                          stdout=subprocess.PIPE)
    return said.stdout.split()


def a_cache(name, *roots):
    cache = WORK / name
    for root in roots:
        (cache / root / "usr/bin").mkdir(parents=True)
        (cache / root / "usr/bin/program").write_bytes(bytes(3_000_000))
        (cache / root / ".complete").touch()
    (cache / "ccache").mkdir(parents=True, exist_ok=True)
    (cache / "ccache/object").touch()
    return cache


def names_in(cache):
    return {path.name for path in cache.iterdir()} - {"lock"}


def old_roots_and_halves_of_roots_go():
    ours = roots_in_use_of(PROJECT)
    assert len(set(ours)) == 3, ours
    cache = a_cache("old", OTHER, OTHER + ".new", *ours, ours[0] + ".new")
    said = cleaned(cache)
    assert names_in(cache) == {"ccache", *ours}, names_in(cache)
    assert f"removed {OTHER} (3 MB)" in said and f"removed 9 MB from {cache} (3 " in said, said
    assert "removed 0 MB" in cleaned(cache)


def a_root_with_more_packages_is_kept_by_who_names_them():
    ours, with_gdb = roots_in_use_of(PROJECT), roots_in_use_of(PROJECT, EMPI_WITH="gdb")
    cache = a_cache("with", *ours, *with_gdb)
    cleaned(cache, EMPI_WITH="gdb")
    assert names_in(cache) == {"ccache", *ours, *with_gdb}, names_in(cache)
    cleaned(cache)
    assert names_in(cache) == {"ccache", *ours}, names_in(cache)


class InUse:
    """Somebody has entered a root: what it sees as /usr is the root's."""

    def __init__(self, root):
        self.running = subprocess.Popen(["unshare", "--mount", "sh", "-c", 'mount --bind "$0/usr" /usr && echo in && read line', root],
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.running.stdout.readline() == "in\n"
        return self

    def __exit__(self, *_):
        self.running.communicate()


def a_root_in_use_stays():
    cache = a_cache("busy", OTHER, "root-trixie-111111111111")
    with InUse(cache / OTHER):
        said = cleaned(cache)
        assert names_in(cache) == {"ccache", OTHER} and f"{OTHER} is in use" in said, said
        refused(cache, "--all", said=["--all", OTHER, "in use"])
    assert f"removed {OTHER}" in cleaned(cache)


def all_of_it_goes():
    cache = a_cache("all", *roots_in_use_of(PROJECT), OTHER, "minimal-bookworm")
    for name in ("tools", "packages", "home", "images", "cluster", "from", "kubernetes", "first-hour", "openmpi-5.0.11-x", "go/pkg/mod"):
        (cache / name).mkdir(parents=True)
    (cache / "go/pkg/mod").chmod(0o555)
    for name in ("root.log", "test-0.lock", "openmpi.log"):
        (cache / name).touch()
    assert "(19 files and folders)" in cleaned(cache, "--all")
    assert not cache.exists(), list(cache.iterdir())
    assert "removed 0 MB" in cleaned(cache, "--all") and not cache.exists()


def whatever_the_scripts_put_there_goes():
    """Also what somebody has added since."""
    names = set()
    for script in sorted((PROJECT / "scripts").glob("*.sh")):
        text = script.read_text()
        names |= set(re.findall(r'(?:\$cache|\$\{cache\}|(?<![\w.])/cache)/([a-z][\w.-]*)', text))
        names |= set(re.findall(r'CCACHE_DIR[^"}]*\}/\.\./([\w-]+)', text))
    assert {"ccache", "clang-tidy", "tools"} <= names, names
    cache = a_cache("scripts", *roots_in_use_of(PROJECT))
    for name in names - {"lock", "elastic-mpi", "none"}:  # the second is the cache itself, the last never made
        (cache / name).mkdir(exist_ok=True)
    (cache / "lost+found").mkdir()
    cleaned(cache, "--all")
    assert names_in(cache) <= {"lost+found"}, names_in(cache)


def what_is_not_ours_stays():
    """A user may have named any folder as the cache."""
    cache = a_cache("home-of-somebody", OTHER)
    (cache / ".bashrc").touch()
    refused(cache, "--all", said=["--all", ".bashrc"])
    (cache / "thesis.new").mkdir()
    cleaned(cache)
    assert names_in(cache) == {"ccache", ".bashrc", "thesis.new"}, names_in(cache)


def wrong_words():
    cache = a_cache("words", OTHER)
    refused(cache, "--al", said=["clean", "'--al'", "--help"])
    refused(cache, "all", said=["clean", "'all'", "--help"])
    refused(cache, "--all", OTHER, said=["clean", OTHER])


def whoever_makes_a_root_is_waited_for():
    cache = a_cache("making", OTHER + ".new")
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = start(cache)
        line = running.stderr.readline()
        assert "waiting for another ./dev" in line, line
        assert names_in(cache) == {"ccache", OTHER + ".new"}
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0 and names_in(cache) == {"ccache"}, said


CASES = [old_roots_and_halves_of_roots_go, a_root_with_more_packages_is_kept_by_who_names_them, a_root_in_use_stays, all_of_it_goes, whatever_the_scripts_put_there_goes,
         what_is_not_ours_stays, wrong_words, whoever_makes_a_root_is_waited_for]

if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: a user's cache takes a range of ids; inside a root of ./dev we are root")
        sys.exit(77)
    run_cases(CASES, WORK)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed can be built against, by what a user has: nothing of the checkout is seen by the compiler.

Usage: install_test.py CHECKOUT BUILD CASE     tree: cmake --install, into a prefix that is moved afterwards
                                               packages: the Debian packages, installed by dpkg in a copy of this system
                                               guide: docs/malleable.md prints the files that these two build
"""
import atexit
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CHECKOUT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(tempfile.mkdtemp(prefix="empi-install."))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)


def run(*command):
    print("$", *command, flush=True)
    result = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL)
    if result.returncode == 77:
        sys.exit(77)
    assert result.returncode == 0, f"exit {result.returncode}"


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def copy_of_the_users():
    """As on the user's machine: sources of the user's own, and the script that builds and runs them."""
    shutil.copytree(HERE / "external", WORK / "mine" / "own", ignore=lambda folder, names: set(names) - FILES)
    shutil.copy(HERE / "own_program.py", WORK / "mine")


FILES = {"CMakeLists.txt", "Makefile", "Containerfile", "own.yaml", "own.cpp", "more", "own_tasks.cpp", "own.c", "own_loop.c"}


def tree():
    first, prefix = WORK / "first", WORK / "moved"
    run("cmake", "--install", BUILD, "--prefix", first, "--strip")
    first.rename(prefix)
    names_no_folder(prefix)
    copy_of_the_users()
    run("python3", WORK / "mine" / "own_program.py", prefix, WORK / "mine" / "own")
    for commands in (WORK / "mine" / "own" / "by-cmake").glob("compile_commands.json"):
        assert str(CHECKOUT) not in commands.read_text(), commands.read_text()


def names_no_folder(prefix):
    """Of the machine that built it; and of the prefix none either, for it may be moved."""
    for file in prefix.rglob("*"):
        if file.is_file() and not file.is_symlink():
            text = file.read_bytes()
            for folder in CHECKOUT, BUILD, WORK / "first":
                found = re.search(re.escape(str(folder)).encode() + rb"[^\0\n]*", text)
                assert not found, f"{file.relative_to(prefix)} names {found[0]}"


def packages():
    made = WORK / "mine" / "packages"
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", made)
    files = sorted(made.glob("*.deb"))
    names = [output("dpkg-deb", "--field", file, "Package").strip() for file in files]
    assert sorted(names) == ["elastic-mpi", "elastic-mpi-dev", "elastic-mpi-runtime"], names
    for file, name in zip(files, names):
        needs = output("dpkg-deb", "--field", file, "Depends")
        print(name, "needs", needs, end="")
        if name == "elastic-mpi-runtime":
            assert "libopenmpi40" in needs and "libpmix2" in needs, needs
        else:
            assert f"elastic-mpi-runtime (= {output('dpkg-deb', '--field', file, 'Version').strip()})" in needs, needs
    copy_of_the_users()
    in_the_copy = """set -eux
        test ! -e "$1/CMakeLists.txt"
        dpkg --install /mine/packages/*.deb
        test "$(command -v empi)" = /usr/bin/empi
        kubectl-empi --help >/dev/null
        ldconfig -p | grep -q "libelastic_mpi.so.[0-9]"
        test -s /usr/share/bash-completion/completions/empi
        python3 /mine/own_program.py /usr /mine/own
        dpkg --purge elastic-mpi elastic-mpi-dev elastic-mpi-runtime
        test -z "$(find /usr -name '*elastic?mpi*')"
    """
    run("bash", HERE / "in_a_copy.sh", WORK / "mine", "bash", "-c", in_the_copy, "-", CHECKOUT)


def guide():
    """The files but for their licence line, as they are."""
    text = (CHECKOUT / "docs" / "malleable.md").read_text()
    blocks = [block.strip() for block in re.findall(r"```[a-z]*\n(.*?)```", text, re.S)]
    for name in sorted(path.name for path in (HERE / "external").iterdir() if path.is_file()):  # else they could not be built
        lines = (HERE / "external" / name).read_text().splitlines()
        wanted = "\n".join(line for line in lines if "SPDX-License-Identifier" not in line).strip()
        assert wanted in blocks, f"docs/malleable.md does not print {name} as it is in {HERE / 'external'}"
    # What own_program.py sets of a prefix the guide tells to set.
    exported = set(re.findall(r"(\w+)=", re.search(r"^\$ export (CMAKE_PREFIX_PATH=.*)$", text, re.M)[1]))
    assert exported == {"CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "PATH"}, exported
    line = "$(CC) -O2 -o $@ $< " + "$$(pkg-config --cflags --libs elastic_mpi_checkpoint) -lstdc++"
    assert line in (HERE / "external" / "more" / "Makefile").read_text()
    assert "`cc wave.c $(pkg-config --cflags --libs elastic_mpi_checkpoint) -lstdc++`" in text


{"tree": tree, "packages": packages, "guide": guide}[sys.argv[3]]()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether clang accepts the sources of some targets, as CMake has noted them for another compiler; it makes no objects.

Usage: clang_reads.py BUILD_DIRECTORY TARGET...
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

CLANG = "clang++-19"


def command_of(entry):
    words, kept = iter(shlex.split(entry["command"])[1:]), []
    for word in words:
        if word == "-o":
            next(words)
        elif word != "-c" and not word.startswith("-W"):
            kept.append(word)
    return [CLANG, "-fsyntax-only", "-w", *kept]


def main():
    build, targets = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    if not shutil.which(CLANG):
        sys.exit(f"clang_reads.py: there is no {CLANG}")
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        target = next((part[:-4] for part in pathlib.Path(entry["output"]).parts if part.endswith(".dir")), None)
        if target in targets:
            commands.setdefault(target, []).append((entry["directory"], command_of(entry)))
    if missing := targets - set(commands):
        sys.exit(f"clang_reads.py: no sources of {', '.join(sorted(missing))}")

    def read(what):
        folder, command = what
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr or f"{shlex.join(command)}: status {done.returncode}\n"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        trouble = "".join(pool.map(read, [command for each in commands.values() for command in each]))
    sys.stderr.write(trouble)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: --threads changes no bit of the answer, and none at all are refused in words.

Usage: threads.py EMPI-TSUNAMI
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def run(program, threads):
    with tempfile.TemporaryDirectory(prefix="threads.") as folder:
        subprocess.run([program, "--data", "none", "--coarsest", "12", "--finest", "13", "--end", "1500", "--snapshot-every", "0", "--maxima", "0",
                        "--threads", threads, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        return json.loads((pathlib.Path(folder) / "tsunami.json").read_text())


def main():
    program = sys.argv[1]
    one, three = run(program, "1"), run(program, "3")
    cells = one["cell_updates"] / one["steps"]
    print(f"{one['steps']} steps, {cells:.0f} cells")
    if one["steps"] < 10 or cells < 3 * 2048:
        sys.exit("too little for three threads")
    if one["state_hash"] != three["state_hash"]:
        sys.exit("three threads have another answer than one")
    refused = subprocess.run([program, "--threads", "0"], capture_output=True, text=True)
    if refused.returncode != 2 or "--threads" not in refused.stderr:
        sys.exit(f"no threads: status {refused.returncode}, {refused.stderr}")


if __name__ == "__main__":
    main()

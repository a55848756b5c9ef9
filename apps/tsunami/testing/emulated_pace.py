#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: --cell-time and --serial-time make steps take that long and change no bit of the answer.

Usage: emulated_pace.py EMPI-TSUNAMI
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

CELL_TIME, SERIAL_TIME = 20, 5000  # microseconds


def run(program, *options):
    with tempfile.TemporaryDirectory(prefix="emulated-pace.") as folder:
        start = time.monotonic()
        subprocess.run([program, "--data", "none", "--finest", "10", "--end", "2000", "--snapshot-every", "0", "--maxima", "0", "--out", folder, *options],
                       check=True, stdout=subprocess.DEVNULL)
        return json.loads((pathlib.Path(folder) / "tsunami.json").read_text()), time.monotonic() - start


def main():
    program = sys.argv[1]
    plain, _ = run(program)
    slow, seconds = run(program, "--cell-time", str(CELL_TIME), "--serial-time", str(SERIAL_TIME))
    least = (plain["cell_updates"] * CELL_TIME + plain["steps"] * SERIAL_TIME) * 1e-6
    print(f"{plain['steps']} steps, {plain['cell_updates']} updates: {seconds:.2f} s, at least {least:.2f} s are expected")
    if plain["steps"] < 10 or slow["state_hash"] != plain["state_hash"]:
        sys.exit("the answer is another one")
    if seconds < least:
        sys.exit("it does not take as long as it is said to")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: with --storage single a gauge sees the same wave, and other words are refused.

Usage: storage.py EMPI-TSUNAMI
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile


def run(program, storage):
    with tempfile.TemporaryDirectory(prefix="storage.") as folder:
        subprocess.run([program, "--data", "none", "--coarsest", "10", "--finest", "12", "--end", "12000", "--snapshot-every", "0",
                        "--storage", storage, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        gauge, = pathlib.Path(folder).glob("gauge-*.csv")
        with gauge.open() as file:
            heights = [(float(row["time_s"]), float(row["eta_m"])) for row in csv.DictReader(file)]
        return json.loads((pathlib.Path(folder) / "tsunami.json").read_text()), heights


def main():
    program = sys.argv[1]
    (double, exact), (single, rounded) = run(program, "double"), run(program, "single")
    highest = max(abs(eta) for _, eta in exact)
    if highest < 0.01:
        sys.exit(f"no wave has come: {highest} m")
    if double["state_hash"] == single["state_hash"]:
        sys.exit("nothing was stored as single")
    steps = {time: eta for time, eta in exact}
    furthest = max(abs(eta - steps[min(steps, key=lambda other: abs(other - time))]) for time, eta in rounded)
    print(f"{len(exact)} and {len(rounded)} samples, up to {highest:.4f} m, at most {furthest:.2e} m apart; "
          f"drift {double['volume_drift']:.1e} and {single['volume_drift']:.1e}")
    if furthest > 0.01 * highest:
        sys.exit("the waves differ by more than 1 %")
    if abs(single["volume_drift"]) > 1e-7:
        sys.exit("water is lost")
    refused = subprocess.run([program, "--storage", "half"], capture_output=True, text=True)
    if refused.returncode != 2 or "--storage" not in refused.stderr:
        sys.exit(f"half storage: status {refused.returncode}, {refused.stderr}")


if __name__ == "__main__":
    main()

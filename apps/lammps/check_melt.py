#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs apps/lammps/melt.yaml through three sizes. Promise: it does its steps, its energy is conserved over the restarts,
and nothing has failed. Usage: check_melt.py [STEPS]"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 300  # s


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    with tempfile.TemporaryDirectory(prefix="melt.") as name:
        work = pathlib.Path(name)
        text = (SOURCE / "apps/lammps/melt.yaml").read_text()
        manifest = work / "melt.yaml"
        manifest.write_text(text.replace("/tmp/melt", str(work)).replace('"-log", none', f'"-log", none, "-var", steps, "{steps}"'))
        environment = dict(os.environ, EMPI_STATE_DIR=str(work / "state"))

        def status():
            try:
                return json.loads((work / "state/melt/status.json").read_text())
            except (OSError, ValueError):
                return {}

        log = (work / "log").open("w+")
        job = subprocess.Popen(["empi", "run", manifest, "--out", work / "out"], env=environment, cwd=SOURCE,
                               stdout=log, stderr=subprocess.STDOUT)
        try:
            for size in (2, 4, 1):
                if size != 2:
                    subprocess.run(["empi", "scale", "melt", str(size)], env=environment, check=True)
                end = time.monotonic() + PATIENCE
                while status().get("state") != "Running" or status().get("joinedReplicas") != size:
                    if job.poll() is not None or time.monotonic() > end:
                        sys.exit(f"not so: it runs on {size} workers; {status().get('conditions')}\n{(work / 'log').read_text()}")
                    time.sleep(.2)
            code = job.wait(PATIENCE)
        finally:
            if job.poll() is None:
                job.terminate()
                job.wait(60)
        said = (work / "log").read_text()
        energies = [float(energy) for energy in re.findall(r"^\[[^]]*\]\s+\d+\s+\S+\s+(-\d+\.\d+)\s*$", said, re.M)]
        sizes = re.findall(r"(\d+) by (\d+) by (\d+) MPI processor grid", said)
        ranks = [int(a) * int(b) * int(c) for a, b, c in sizes]
        problems = [
            what for what, right in (
                (f"it ends well (status {code})", code == 0),
                (f"{steps} steps are done", f"melt: {steps} steps are done" in said),
                (f"it ran on 2, 4 and 1 ranks, as LAMMPS says ({ranks})", ranks == [2, 4, 1]),
                (f"the energy is conserved ({energies})", energies and max(energies) - min(energies) < 5e-3 * abs(energies[0])),
                (f"nothing has failed ({status().get('restarts')})", status().get("restarts", 0) == 0),
            ) if not right
        ]
        if problems:
            sys.exit(said + "".join(f"\nnot so: {problem}" for problem in problems))
        print(f"melt: {steps} steps on 2, 4 and 1 ranks; energy per atom {energies[0]:.4f} to {energies[-1]:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""SPE10 model 2 against OPM Flow on the same deck: its bottom 16 layers, or all 85.

References, both with real permeability, porosity .2 and producers at 4000 psi; summaries at days 10, 20 and 30 (STB/day,
psi):
  16 layers  OPM Flow 2022.10, 941.2 STB/day injected: shared/data/spe10_model2/opm_flow_bottom16
  85 layers  OPM Flow 2024.10 (Debian 13's libopm-simulators-bin), 5000 STB/day injected; that deck with DIMENS 60 220 85,
             TOPS 12000, PERM of all layers, COMPDAT 1 85, RATE 5000 and TSTEP 1 4 5 10 10; made on 27 November 2026 by
             `flow --threads-per-process=1`, 13 steps, 1207 s. Its first steps were cut to .33 days.
From day 10 on: total rate, each well and field pressure within the run's limits. Earlier, the expansion of the liquids
decides, and both codes' time steps show.

Usage: against_opm.py PROGRAM [coarse|adapted|full|fine|all]
  coarse    blocks of two by two (level 2 where pressures differ little), 10 days: what the routine test runs
  adapted   the application's own choice between levels 2 and 4, 30 days: ./dev test long
  full      two triangles in every block (level 4), 30 days
  fine      level 4, and half of its cells' size (level 6) around wells and front, 30 days
  all       all 85 layers at level 4, 30 days: ./dev test long; some 10 minutes of a quiet core, 1.4 GB
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing"))
import measured  # noqa: E402

SKIPPED = 77
OPM16 = {10: (1130.47, 5612.83, [183.101, 289.459, 382.828, 275.085]),
         20: (1022.55, 5466.53, [166.211, 263.226, 346.902, 246.216]),
         30: (984.406, 5397.19, [159.876, 253.504, 334.507, 236.519])}
OPM85 = {10: (5737.6, 5730.3, [769.306, 1272.43, 2358.57, 1337.29]),
         20: (5390.42, 5618.08, [714.217, 1190.09, 2232.82, 1253.29]),
         30: (5218.68, 5553.48, [685.944, 1146.24, 2174.23, 1212.26])}
# Layers, days, limits of total, pressure and wells, options.
RUNS = {"coarse": (16, 10, (.05, .02, .10),
                   ["--coarsest", "2", "--finest", "4", "--refine-p", "200", "--coarsen-p", "100"]),
        "adapted": (16, 30, (.01, .005, .015), ["--coarsest", "2", "--finest", "4"]),
        "full": (16, 30, (.01, .005, .015), ["--coarsest", "4", "--finest", "4"]),
        "fine": (16, 30, (.05, .02, .10), ["--coarsest", "4", "--finest", "6", "--refine-p", "1e9", "--coarsen-p", "1e8"]),
        "all": (85, 30, (.01, .005, .015), ["--coarsest", "4", "--finest", "4"])}


class NoData(Exception):
    """What is missing, and what gets it."""


def run(program, data, name, out):
    """RUNS[name]: its spe10.json, and for each day how far each figure is off, as a share of OPM Flow's."""
    layers, days, _, arguments = RUNS[name]
    if not (data / "spe10_model2").is_dir():
        raise NoData(f"no spe10_model2 in {data}; docs/spe10.md says where from")
    # Snapshots make a step end on each of the days.
    subprocess.run([program, "--data", str(data), "--out", str(out), "--layers", str(layers), "--days", str(days),
                    "--snapshot-every", "10"] + arguments, check=True, stdout=sys.stderr)
    with open(pathlib.Path(out) / "production.csv", newline="") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    off = {}
    for day, (total, pressure, wells) in (OPM85 if layers == 85 else OPM16).items():
        if day > days:
            continue
        row = min(rows, key=lambda r: abs(r["day"] - day))
        assert abs(row["day"] - day) < 1e-6, f"no step ends on day {day}"
        off[day] = {"total": row["oil_stb_day"] / total - 1, "pressure": row["mean_pressure_psi"] / pressure - 1}
        off[day] |= {f"P{k + 1}": row[f"P{k + 1}_oil_stb_day"] / wells[k] - 1 for k in range(4)}
    return json.loads((pathlib.Path(out) / "spe10.json").read_text()), off


def main():
    program, data = sys.argv[1], measured.folder()
    name = sys.argv[2] if len(sys.argv) > 2 else "adapted"
    total_limit, pressure_limit, well_limit = RUNS[name][2]
    with tempfile.TemporaryDirectory(prefix="spe10-") as out:
        try:
            summary, off = run(program, data, name, out)
        except NoData as missing:
            print(f"skipped: {missing}")
            sys.exit(SKIPPED)
    print(f"{summary['columns_final']} columns, {summary['steps']} steps, {summary['pressure_iterations']} iterations, "
          f"pressure {summary['seconds_pressure']:.0f} s, transport {summary['seconds_transport']:.0f} s")
    for day, figures in off.items():
        print(f"day {day}: " + ", ".join(f"{key} {100 * value:+.1f} %" for key, value in figures.items()))
        assert abs(figures["total"]) <= total_limit, "total oil rate"
        assert abs(figures["pressure"]) <= pressure_limit, "field pressure"
        assert all(abs(figures[f"P{k}"]) <= well_limit for k in range(1, 5)), "a well's oil rate"
    assert .2 - 1e-3 <= summary["saturation_range"][0] and summary["saturation_range"][1] <= .8 + 1e-6, "saturations"
    assert abs(summary["water_balance"]) < 1e-12, "water"


if __name__ == "__main__":
    main()

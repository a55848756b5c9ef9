# SPDX-License-Identifier: Apache-2.0
"""Runs beside DART buoys, as docs/tsunami.md has them: what their tests and ./dev bench tsunami-accuracy share."""
import json
import lzma
import pathlib
import subprocess

TOHOKU_BUOYS = {"21413": (152.117, 30.515), "21418": (148.694, 38.711)}


class NoData(Exception):
    """What is missing, and what gets it."""


def gauges_of(command, out):
    """The summary of a run, with its gauges by name."""
    subprocess.run([str(word) for word in command] + ["--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((pathlib.Path(out) / "tsunami.json").read_text())
    summary["gauges"] = {gauge["id"]: gauge for gauge in summary["gauges"]}
    return summary


def chile(program, data, out, finest="17"):
    if not (data / "chile2010").is_dir():
        raise NoData(f"no measured data in {data}; scripts/fetch_data.sh gets it")
    return gauges_of([program, "--data", data, "--finest", finest, "--coarsest", "8", "--refine", ".05", "--coarsen", ".025",
                      "--end", "32400", "--snapshot-every", "0"], out)


def sea_floor(data, out):
    """Of the northern Pacific at 5 arc minutes; a packed one is unpacked into `out`."""
    folder = data / "tohoku2011"
    for name in ("etopo5.cdf", "etopo5_npac_i16le.bin"):
        if (folder / name).exists():
            return folder / name
    packed = folder / "etopo5_npac_i16le.bin.xz"
    if not packed.exists():
        raise NoData(f"no {folder / 'etopo5.cdf'}; scripts/fetch_data.sh tohoku2011 gets it")
    unpacked = pathlib.Path(out) / packed.stem
    unpacked.parent.mkdir(parents=True, exist_ok=True)
    unpacked.write_bytes(lzma.decompress(packed.read_bytes()))
    unpacked.with_suffix(".txt").write_bytes((folder / "etopo5_npac_i16le.txt").read_bytes())
    return unpacked


def tohoku(program, data, faults, out, finest="17", solver="augrie", more=(), end="14460"):
    gauges = [f"--gauge={name}:{lon}:{lat}:{data}/tohoku2011/dart_{name}_notide.txt:1200-14400"
              for name, (lon, lat) in TOHOKU_BUOYS.items()]
    return gauges_of([program, "--topography", sea_floor(data, out), "--faults", faults, "--west", "133", "--east", "175.6667",
                      "--south", "15", "--north", "57.6667", "--coarsest", "8", "--finest", finest, "--refine", ".02",
                      "--coarsen", ".01", "--solver", solver, "--end", end, "--snapshot-every", "0", *more] + gauges, out)

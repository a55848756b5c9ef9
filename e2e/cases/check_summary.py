#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the folder that a run leaves: summary.json complete and consistent, pictures real.

Usage: check_summary.py DIR [--grows N] [--shrinks N] [--tasks] [--pictures PREFIX ...]
Prints every broken promise and exits 1 when there is one.
"""
import argparse
import json
import pathlib
import struct
import sys

CHANGE_FIELDS = {"kind", "from", "to", "prepare_ms", "build_ms", "pause_ms", "redistribute_ms"}
FIELDS = {"run_time_s", "cpu_seconds", "changes", "pause_total_s", "adaptation_share", "cells_final", "gauges"}


def png_size(path):
    head = path.read_bytes()[:24]
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    return struct.unpack(">II", head[16:24])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--grows", type=int, default=0, help="committed grows at least")
    parser.add_argument("--shrinks", type=int, default=0, help="committed shrinks at least")
    parser.add_argument("--shrinks-from", type=int, default=0, help="one that had so many workers has become smaller")
    parser.add_argument("--pictures", nargs="*", default=[], help="a PNG must exist whose name starts so")
    parser.add_argument("--tasks", action="store_true", help="the times of a tsunami's tasks add up to most of the run's, and no more")
    parser.add_argument("--no-gauges", action="store_true", help="an application without tide gauges")
    parser.add_argument("--no-cells", action="store_true", help="an application without a mesh")
    args = parser.parse_args()
    wanted = FIELDS - ({"gauges"} if args.no_gauges else set()) - ({"cells_final"} if args.no_cells else set())
    broken = []

    summary = json.loads((args.dir / "summary.json").read_text())
    broken += [f"summary.json lacks {name}" for name in sorted(wanted - summary.keys())]
    changes = [c for c in summary.get("changes", []) if c.get("outcome", "committed") == "committed"]
    for change in changes:
        broken += [f"change {change} lacks {name}" for name in sorted(CHANGE_FIELDS - change.keys())]
        if change["kind"] == "grow" and change["to"] <= change["from"]:
            broken.append(f"a grow from {change['from']} to {change['to']}")
        if change["kind"] == "shrink" and change["to"] >= change["from"]:
            broken.append(f"a shrink from {change['from']} to {change['to']}")
    for kind, least in (("grow", args.grows), ("shrink", args.shrinks)):
        found = sum(c["kind"] == kind for c in changes)
        if found < least:
            broken.append(f"{found} committed {kind}s, at least {least} expected")
    if args.shrinks_from and not any(c["kind"] == "shrink" for c in changes):
        if max((c["to"] for c in changes), default=0) >= args.shrinks_from:
            broken.append(f"no committed shrink of a job that had {args.shrinks_from} workers or more")
    pause = sum(c["pause_ms"] for c in changes) / 1000
    if abs(pause - summary.get("pause_total_s", -1)) > 1e-3 + 1e-3 * pause:
        broken.append(f"pause_total_s {summary.get('pause_total_s')} is not the sum of the pauses {pause}")
    tasks = sum(summary.get("seconds_by_task", {}).values())
    if args.tasks and not .5 * summary["run_time_s"] < tasks < summary["run_time_s"] + 1:
        broken.append(f"seconds_by_task has {tasks:.1f} s in all of {summary['run_time_s']} s")
    for gauge in summary.get("gauges", []):
        broken += [f"gauge {gauge} lacks {name}" for name in ("id", "rms_m", "correlation", "max_m")
                   if name not in gauge]
    for prefix in args.pictures:
        found = sorted(args.dir.rglob(f"{prefix}*.png"))
        if not found:
            broken.append(f"no picture {prefix}*.png")
        for path in found:
            size = png_size(path)
            if size is None or min(size) < 200:
                broken.append(f"{path.name} is no picture ({size})")

    print("\n".join(broken) if broken else "summary and pictures are as promised", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: when each subfault of tohoku2011-rupture.csv slips, and for how long, is what its comment says: from when a front that
leaves the hypocentre comes to its plane until it has passed, to the second; and the subfaults are those of tohoku2011-faults.csv.

Usage: rupture_times.py RUPTURE.csv FAULTS.csv
"""
import csv
import sys
from math import asin, cos, hypot, pi, sin, sqrt

HYPOCENTRE = 142.861, 38.1035, 24.0  # degrees, km: JMA's
EARLY, LATE, CHANGE = 1.5, 2.5, 80.0  # km/s until then (s), and from then on
RADIUS = 6367.5  # km, as okada() takes the earth
DEGREE = pi / 180
SPACING = .5  # km, between points of a plane: the nearest one is missed by less than .01 s


def subfaults(path):
    with open(path) as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def plane(row):
    """Points of a subfault's plane in degrees and km; (lon, lat) is the middle of its lower edge, the depth its upper edge's."""
    assert row["reference"] == "noaa sift", row
    lon, lat, top, length, width = (float(row[name]) for name in ("lon", "lat", "depth_km", "length_km", "width_km"))
    strike, dip = float(row["strike"]) * DEGREE, float(row["dip"]) * DEGREE
    along, down = round(length / SPACING), round(width / SPACING)
    for i in range(along + 1):
        a = (i / along - .5) * length
        for j in range(down + 1):
            u = j / down * width  # from the lower edge up
            east, north = a * sin(strike) - u * cos(dip) * cos(strike), a * cos(strike) + u * cos(dip) * sin(strike)
            yield (lon + east / (RADIUS * DEGREE * cos(lat * DEGREE)), lat + north / (RADIUS * DEGREE), top + (width - u) * sin(dip))


def from_hypocentre(lon, lat, depth):
    """km: along the great circle, and down."""
    lon0, lat0, depth0 = HYPOCENTRE
    h = sin((lat - lat0) * DEGREE / 2) ** 2 + cos(lat * DEGREE) * cos(lat0 * DEGREE) * sin((lon - lon0) * DEGREE / 2) ** 2
    return hypot(2 * RADIUS * asin(sqrt(h)), depth - depth0)


def arrival(distance):
    near = EARLY * CHANGE
    return distance / EARLY if distance <= near else CHANGE + (distance - near) / LATE


def main():
    rupture, faults = subfaults(sys.argv[1]), subfaults(sys.argv[2])
    times = ("rupture_time_s", "rise_time_s")
    assert [{k: v for k, v in row.items() if k not in times} for row in rupture] == faults, "other subfaults than " + sys.argv[2]
    wrong = []
    for number, row in enumerate(rupture, 1):
        distances = [from_hypocentre(*point) for point in plane(row)]
        comes, passed = arrival(min(distances)), arrival(max(distances))
        for name, seconds in zip(times, (comes, passed - comes)):
            if float(row[name]) != round(seconds):
                wrong.append(f"subfault {number}: {name} {row[name]}, by the front {seconds:.2f}")
    end = max(sum(float(row[name]) for name in times) for row in rupture)
    if end != 157:
        wrong.append(f"the last subfault has slipped at {end:g} s, expected 157 s")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

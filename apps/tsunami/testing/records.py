# SPDX-License-Identifier: Apache-2.0
"""Records of two runs at one gauge, beside each other: what tests of convergence share."""
import bisect
import csv
import math
import pathlib


def record(folder, gauge):
    """Times (s) and surface (m) of what a run has written."""
    with open(pathlib.Path(folder) / f"gauge-{gauge}.csv", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return [float(row["time_s"]) for row in rows], [float(row["eta_m"]) for row in rows]


def at(series, time):
    """Linear in between."""
    times, heights = series
    k = min(max(bisect.bisect(times, time), 1), len(times) - 1)
    share = (time - times[k - 1]) / (times[k] - times[k - 1])
    return heights[k - 1] + share * (heights[k] - heights[k - 1])


def rms(function, begin, end):
    """Of a function of time, each five seconds."""
    times = range(begin, end, 5)
    return math.sqrt(sum(function(time) ** 2 for time in times) / len(times))


def difference(a, b, begin, end):
    return rms(lambda time: at(a, time) - at(b, time), begin, end)


def highest(series, begin, end):
    """The highest sample of a window, m, and when, s."""
    return max((height, time) for time, height in zip(*series) if begin <= time <= end)

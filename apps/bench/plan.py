# SPDX-License-Identifier: Apache-2.0
"""What the sizes of a job could have been at best, known afterwards: by dynamic programming over how long each part of it
takes on each number of workers. Pure."""
import dataclasses

PRICES = [1e-3 * 1.1**k for k in range(150)]  # workers that a second of the job's time is worth: .001 to 1,500


@dataclasses.dataclass(frozen=True)
class Plan:
    sizes: tuple  # workers, for each part
    seconds: float
    core_seconds: float  # workers x time


def planned(parts, change_seconds, seconds_weight, core_weight, beside=0):
    """The plan of the least seconds_weight * seconds + core_weight * core_seconds.

    parts: {workers: [seconds of each part]}; change_seconds: that a change takes, on the larger of its two sizes; beside: seconds
    that a job takes besides its parts, on the size that it begins with."""
    # The best that ends on that size: sizes, seconds, core-seconds.
    ways = {size: ((size,), beside + part[0], size * (beside + part[0])) for size, part in parts.items()}

    def worth(way):
        return seconds_weight * way[1] + core_weight * way[2]

    def changed(way, size):
        last = way[0][-1]
        return way if last == size else (way[0], way[1] + change_seconds, way[2] + change_seconds * max(last, size))

    for k in range(1, len(next(iter(parts.values())))):
        before = list(ways.values())
        ways = {}
        for size in parts:
            sizes, seconds, core_seconds = min((changed(way, size) for way in before), key=worth)
            ways[size] = ((*sizes, size), seconds + parts[size][k], core_seconds + size * parts[size][k])
    return Plan(*min(ways.values(), key=worth))


def least_core_seconds(parts, change_seconds, seconds, beside=0):
    """That any plan takes which needs no more than `seconds`: a lower bound (Lagrange), nearly met where there are many parts."""
    plans = ((price, planned(parts, change_seconds, price, 1, beside)) for price in PRICES)
    return max(plan.core_seconds + price * (plan.seconds - seconds) for price, plan in plans)


def least_seconds(parts, change_seconds, core_seconds, beside=0):
    """That any plan takes which needs no more than `core_seconds`: a lower bound, as above."""
    plans = ((price, planned(parts, change_seconds, price, 1, beside)) for price in PRICES)
    return max(plan.seconds + (plan.core_seconds - core_seconds) / price for price, plan in plans)

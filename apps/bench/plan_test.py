#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
import itertools
import random
import unittest

import fair
import plan

# Of eight parts, the first of which are not worth four workers: the last are.
GROWING = {1: [1, 1, 1, 1, 8, 8, 8, 8], 2: [.8, .8, .8, .8, 4.2, 4.2, 4.2, 4.2], 4: [.9, .9, .9, .9, 2.4, 2.4, 2.4, 2.4]}


def of_sizes(parts, change, sizes, beside=0):
    """Seconds and core-seconds, added up."""
    seconds, core = beside, beside * sizes[0]
    for k, size in enumerate(sizes):
        if k and sizes[k - 1] != size:
            seconds, core = seconds + change, core + change * max(size, sizes[k - 1])
        seconds, core = seconds + parts[size][k], core + size * parts[size][k]
    return seconds, core


def every_plan(parts, change, beside=0):
    return [of_sizes(parts, change, sizes, beside) for sizes in itertools.product(parts, repeat=len(parts[1]))]


class Planned(unittest.TestCase):
    def test_the_fastest_and_the_cheapest(self):
        fastest = plan.planned(GROWING, 0, 1, 0)
        self.assertEqual(fastest.sizes, (2, 2, 2, 2, 4, 4, 4, 4))
        self.assertAlmostEqual(fastest.seconds, 4 * .8 + 4 * 2.4)
        self.assertEqual(plan.planned(GROWING, 0, 0, 1).sizes, (1,) * 8)

    def test_a_change_is_made_where_it_pays(self):
        self.assertEqual(set(plan.planned(GROWING, 1, 1, 0).sizes), {4})
        self.assertEqual(set(plan.planned(GROWING, .39, 1, 0).sizes), {2, 4})

    def test_no_plan_is_better(self):
        rng = random.Random(1)
        for _ in range(20):
            parts = {size: [rng.uniform(.5, 2) / size**.7 for _ in range(5)] for size in (1, 2, 4)}
            change, weight, beside = rng.uniform(0, .2), rng.uniform(0, 3), rng.uniform(0, 2)
            best = plan.planned(parts, change, weight, 1, beside)
            for ours, expected in zip((best.seconds, best.core_seconds), of_sizes(parts, change, best.sizes, beside)):
                self.assertAlmostEqual(ours, expected)
            self.assertAlmostEqual(weight * best.seconds + best.core_seconds,
                                   min(weight * s + c for s, c in every_plan(parts, change, beside)))


class Bounds(unittest.TestCase):
    def test_nobody_is_below_them(self):
        plans = every_plan(GROWING, .2)
        for seconds, core in plans[::101]:
            cheapest = min(c for s, c in plans if s <= seconds)
            self.assertLessEqual(plan.least_core_seconds(GROWING, .2, seconds), cheapest + 1e-9)
            self.assertGreater(plan.least_core_seconds(GROWING, .2, seconds), .9 * cheapest)
            fastest = min(s for s, c in plans if c <= core)
            self.assertLessEqual(plan.least_seconds(GROWING, .2, core), fastest + 1e-9)
            self.assertGreater(plan.least_seconds(GROWING, .2, core), .85 * fastest)

    def test_fixed_sizes_are_met_where_nothing_else_is_better(self):
        parts = {1: [4.0] * 10, 2: [2.5] * 10}
        self.assertAlmostEqual(plan.least_core_seconds(parts, 0, 40), 40)
        self.assertAlmostEqual(plan.least_core_seconds(parts, 0, 25), 50, delta=.1)
        self.assertAlmostEqual(plan.least_seconds(parts, 0, 50), 25, delta=.1)


class Offline(unittest.TestCase):
    """The figures of ./dev bench elastic-*."""

    class Figures(dict):
        def figure(self, name, value, unit):
            self[name] = value

    @staticmethod
    def run_of(parts, size, beside):
        progress = fair.Progress.__new__(fair.Progress)
        progress.done = list(range(fair.PARTS + 1))
        progress.times = [sum(parts[:k]) for k in progress.done]
        seconds = sum(parts) + beside
        return fair.Run({"run_time_s": seconds, "core_seconds": size * seconds, "changes": []}, progress, False)

    def test_a_run_that_is_the_best_plan_has_ratios_of_one(self):
        # The cheapest plan keeps to one worker, with the time beside its parts; the fastest has two from the start.
        parts, figures = {1: [1.0] * fair.PARTS, 2: [.6] * fair.PARTS}, self.Figures()
        sweep = {size: self.run_of(part, size, beside=8) for size, part in parts.items()}
        for best in sweep.values():
            fair.offline(figures, sweep, [best])
            self.assertAlmostEqual(figures["cpu_ratio_best"], 1)
            self.assertAlmostEqual(figures["time_ratio_best"], 1)


if __name__ == "__main__":
    unittest.main()

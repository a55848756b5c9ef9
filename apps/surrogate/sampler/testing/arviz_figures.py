#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The references of Diagnostics.AreArviZs and .SayThatChainsAreStuck (diagnostics_test.cpp): what ArviZ says of four sets of
chains made of integers, and of chains that do not move.

Usage: arviz_figures.py, with arviz installed
"""
import arviz
import numpy


def chain(c, rho, shift):
    seed, x = 17 + c, 0.5
    for _ in range(500):
        seed = (seed * 1103515245 + 12345) % 2**31
        x = rho * x + (1 - rho) * ((seed >> 8) / 2**23)
        yield x + shift * c


def figures(chains):
    return [repr(float(value)) for value in (arviz.rhat(chains, method="rank"), arviz.ess(chains, method="bulk"),
                                             arviz.ess(chains, method="mean"), arviz.mcse(chains, method="mean"))]


print(arviz.__version__)
for rho, shift in ((0, 0), (0.5, 0), (0.875, 0), (0.5, 0.0625)):
    print(rho, shift, *figures(numpy.array([list(chain(c, rho, shift)) for c in range(4)])))
for places in ((0.1, 0.23, 0.7, 0.91), (0.1, 0.1, 0.1)):
    print(*places, *figures(numpy.array([[place] * 100 for place in places])))

# SPDX-License-Identifier: Apache-2.0
# The forward model of oscillator.yaml: the displacement of a damped oscillator at 24 times.
import math


def displacement(parameters):
    amplitude, frequency, damping = parameters
    times = [0.25 * (k + 1) for k in range(24)]
    return [amplitude * math.exp(-damping * t) * math.cos(frequency * t) for t in times]

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: a model served by PyPI's umbridge, not by a stub of ours, is as good as a function of Python, to the bit; one that
raises, hangs or dies in mid-run is started anew, and one that always raises ends the job with one line.

Skipped (77) without umbridge: apps/testing/pypi.py. Usage: umbridge_test.py PROGRAM, empi-surrogate
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "testing"))
import pypi

(umbridge,) = pypi.need("umbridge")

# The trouble is a line of Python in each run.
SERVER = """
import os, pathlib, sys, time, umbridge
from oscillator import displacement
once, trouble, runs = pathlib.Path(sys.argv[1]), sys.argv[2], 0
class Oscillator(umbridge.Model):
    def __init__(self): super().__init__("forward")
    def get_input_sizes(self, config): return [2, 1]
    def get_output_sizes(self, config): return [24]
    def supports_evaluate(self): return True
    def __call__(self, parameters, config):
        global runs
        runs += 1
        exec(trouble)
        return [displacement(parameters[0] + parameters[1])]
umbridge.serve_models([Oscillator()], int(os.environ["PORT"]))
"""
ONCE = "if runs == 5 and not once.exists(): once.touch(); "

program = sys.argv[1]
example = pathlib.Path(__file__).parents[2] / "example"
scratch = tempfile.TemporaryDirectory(prefix="umbridge-")
folder = pathlib.Path(scratch.name)
(folder / "server.py").write_text(SERVER)
# Variables of ours are not handed to models.
paths = [str(example)] + ([pypi.FOLDER] if pypi.FOLDER else [])
environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), PYTHONDONTWRITEBYTECODE="1")


def solve(name, model, more=""):
    """What the program wrote of the problem with this model, or None, its errors, and how long it took, s."""
    problem = folder / f"{name}.yaml"
    problem.write_text(textwrap.dedent(f"""\
        parameters:
          - {{name: amplitude, low: 0.5, high: 2}}
          - {{name: frequency, low: 0.8, high: 1.6}}
          - {{name: damping, low: 0, high: 0.5}}
        outputs: 24
        model: {{{model}{more}}}
        truth: [1.2, 1.1, 0.2]
        relativeNoise: 0.1
        """))
    out = folder / name
    begin = time.monotonic()
    done = subprocess.run([program, "--problem", str(problem), "--out", str(out), "--level", "2", "--most-points", "20",
                           "--reference-points", "8", "--ensembles", "2", "--chains", "2", "--samples", "64", "--burn-in", "64"],
                          env=environment, capture_output=True, text=True, timeout=100)
    found = json.loads((out / "surrogate.json").read_text()) if done.returncode == 0 else None
    print(f"{name}: status {done.returncode}, {time.monotonic() - begin:.1f} s")
    return found, done.stderr, time.monotonic() - begin


def served(name, trouble="pass", more=""):
    command = json.dumps(["python3", str(folder / "server.py"), str(folder / f"{name}.once"), trouble])
    return solve(name, f"umbridge: {{command: {command}, name: forward}}", more)


def same(found, name):
    for parameter, wanted in zip(found["parameters"], reference["parameters"]):
        for key in ("mean", "sd", "q05", "bulk_ess"):
            assert parameter[key] == wanted[key], f"{name}: {key} of {parameter['name']}: {parameter[key]}, not {wanted[key]}"


reference, errors, _ = solve("function", f"python: {example / 'oscillator.py'}:displacement")
assert reference, errors

found, errors, _ = served("works")
assert found, errors
same(found, "works")

found, errors, seconds = served("slow", ONCE + "time.sleep(1)")
assert found and seconds > 1, errors
assert "tried again" not in errors, errors
same(found, "slow")

found, errors, _ = served("hangs", ONCE + "time.sleep(1000)", ", timeoutSeconds: 1")
assert found, errors
assert errors.count("tried again") == 1, errors
same(found, "hangs")

found, errors, _ = served("dies", ONCE + "os._exit(3)")
assert found, errors
assert errors.count("tried again") == 1, errors
same(found, "dies")

found, errors, _ = served("raises_once", ONCE + "raise ValueError('no')")
assert found, errors
assert errors.count("tried again") == 1, errors
same(found, "raises_once")

found, errors, _ = served("raises", "raise ValueError('a boundary is crossed')", ", attempts: 2")
assert found is None
said = [line for line in errors.splitlines() if line.startswith("inverse problem: ")]
assert len(said) == 1 and "failed 2 times, at last: /Evaluate: status 500" in said[0], errors
assert "ValueError: a boundary is crossed" in errors, "the server's own words are lost: " + errors

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The presets that no run of .ci/run builds (its own is `release`; clang-tidy's is `apart`) can be configured: what they find in the
Debian root differs with the compiler.

Usage: presets_test.py CHECKOUT
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1))
BUILT_ELSEWHERE = {"release", "apart"}


class Presets(unittest.TestCase):
    def test_can_be_configured(self):
        presets = json.loads((CHECKOUT / "CMakePresets.json").read_text())["configurePresets"]
        compilers = {preset["name"]: preset.get("cacheVariables", {}).get("CMAKE_CXX_COMPILER", "c++")
                     for preset in presets if not preset.get("hidden")}
        self.assertLess(BUILT_ELSEWHERE, compilers.keys())
        for name in sorted(compilers.keys() - BUILT_ELSEWHERE):
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="empi-presets-") as folder:
                if not shutil.which(compilers[name]):
                    self.skipTest(f"there is no {compilers[name]}")
                run = subprocess.run(["cmake", "--preset", name, "-B", folder], cwd=CHECKOUT, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr[-3000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)

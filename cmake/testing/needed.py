# SPDX-License-Identifier: Apache-2.0
# Reads what `ctest --show-only=json-v1` prints; prints what these tests need built, as targets of the build folder in
# which it runs.
import json
import os
import sys

needed = {os.path.relpath(path) for test in json.load(sys.stdin)["tests"] for entry in test.get("properties", [])
          if entry["name"] == "REQUIRED_FILES" for path in entry["value"]}
print("\n".join(sorted(needed)))

# SPDX-License-Identifier: Apache-2.0
"""What the tests of ./dev share."""
import shutil
import sys


def run_cases(cases, work):
    """Those that are named after PROJECT on the command line, or all; `work`, their folder, goes whatever comes."""
    wanted = sys.argv[2:]
    try:
        unknown = set(wanted) - {case.__name__ for case in cases}
        if unknown:
            sys.exit(f"there is no case {' '.join(sorted(unknown))}")
        for case in cases:
            if not wanted or case.__name__ in wanted:
                print(case.__name__, flush=True)
                case()
    finally:
        shutil.rmtree(work, ignore_errors=True)

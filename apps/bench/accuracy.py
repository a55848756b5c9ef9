# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of accuracy share: figures that tests have recorded (apps/io/test_record.hpp), and tables of them."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from elastic import Bench, note

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
import measured  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Measured(dict):
    """What tests have recorded: {"Suite.Case": {key: number}, or None where it was skipped, which is a dash in tables}.

    KeyError for what no test has recorded."""

    def of(self, case, key):
        return None if self[case] is None else self[case][key]

    def text(self, case, *keys, digits=2, unit=""):
        """The figures in percent, say, with as many digits that count."""
        values = [self.of(case, key) for key in keys]
        if any(value is None for value in values):
            return "-"
        scale = 100 if unit == " %" else 1
        return ", ".join(f"{scale * value:.{digits}g}" for value in values) + unit

    def largest(self, case, key, digits=2, unit=""):
        """The largest absolute value over all instances of a case with parameters ("Places/Radial.FlowIsTheExactOne")."""
        value = max(abs(self.of(name, key)) for name in self if name.startswith(case + "/"))
        return Measured({case: {key: value}}).text(case, key, digits=digits, unit=unit)


def run_tests(tests, args):
    """Runs these programs, which must succeed, with the data and the folder of arguments_of()."""
    measured = Measured()
    for test in tests:
        note(f"running {test}")
        report = args.out / f"{test}.json"
        subprocess.run([test, f"--gtest_output=json:{report}"], check=True, stdout=subprocess.DEVNULL,
                       env=os.environ | {"EMPI_DATA": str(args.data)})
        for suite in json.loads(report.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                figures = {}
                for key, value in case.items():
                    try:
                        figures[key] = float(value)
                    except (TypeError, ValueError):
                        continue  # of the test itself: its name, say
                measured[f"{suite['name']}.{case['name']}"] = None if case["result"] == "SKIPPED" else figures
    return measured


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def arguments_of(name, text, *more):
    """Of a benchmark of accuracy: --out DIR and --data DIR, and `more` (names and what argparse takes of them)."""
    parser = argparse.ArgumentParser(prog=f"./dev bench {name}", description=text.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/bench" / name)
    parser.add_argument("--data", type=pathlib.Path, default=measured.folder())
    for option, settings in more:
        parser.add_argument(option, **settings)
    args = parser.parse_args()
    args.out, args.data = args.out.resolve(), args.data.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    return args, Bench(name, args.out)


def write_tables(out, title, tables):
    (out / "tables.md").write_text(f"# {title}\n\n" + "\n".join(tables))
    note(f"{out / 'tables.md'}")

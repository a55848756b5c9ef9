#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# targets:
"""./dev bench build [--sample N] [--base COMMIT]: what compiling costs, in processor time, beside an older commit.

Compiles everything that .ci/run compiles, of this commit and of the older one in turn, and adds up user and system time;
the compiler cache has no part in it. Figures:
build.cpu_ratio (all of this commit over all of the older one), build.cpu and build.base_cpu (s), build.product_cpu (s:
what the default target compiles). --sample N compiles every Nth source of each (chosen by a hash of its name) and
multiplies: N = 8 takes a tenth of an hour. What is compiled together differs much in size: samples are some
ten per cent off, and are for looking; the figure is that of all.
"""
import argparse
import hashlib
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BASE = "17a3761"  # where the tests, and CI, took 74 minutes
NOTHING_KEPT = {name: value for name, value in os.environ.items() if name != "CCACHE_DIR"}  # cmake/testing/precompile.sh


def git(*words):
    return subprocess.run(["git", "-c", f"safe.directory={SOURCE}", "-C", SOURCE, *words], check=True, capture_output=True).stdout


def note(text):
    print(f"note: {text}", file=sys.stderr, flush=True)


class Tree:
    """A commit, configured in a folder of its own."""

    def __init__(self, commit, folder):
        self.source = folder / "source"
        self.build = folder / "build"
        self.source.mkdir(parents=True)
        subprocess.run(["tar", "-x", "-C", self.source], input=git("archive", commit), check=True)
        run = subprocess.run(["cmake", "--preset", "release", "-B", self.build, "-DCCACHE=OFF"], cwd=self.source,
                             capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"bench: {commit} cannot be configured:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        targets = "\n" + self.ninja("-t", "targets", "all")
        self.targets = ["all", *self.of_tests(targets), *(t for t in ("check-benchmarks", "check-fuzzers") if f"\n{t}: phony" in targets)]
        generated = [line.split(":")[0] for line in targets.splitlines() if re.search(r"\.[ch]pp: CUSTOM_COMMAND$", line)]
        if generated:
            self.ninja(*generated)

    def of_tests(self, targets):
        """What the tests of .ci/run need; an older commit builds all that it has."""
        needed = self.source / "cmake/testing/needed.py"
        if not needed.exists():
            return [t for t in ("tests", "sanitized") if f"\n{t}: phony" in targets]
        tests = subprocess.run(["ctest", "--show-only=json-v1", "--label-exclude", "^long$"], cwd=self.build, check=True, capture_output=True)
        return subprocess.run([sys.executable, needed], cwd=self.build, input=tests.stdout, check=True, capture_output=True).stdout.decode().split()

    def ninja(self, *words):
        run = subprocess.run(["ninja", "-C", self.build, *words], capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"bench: ninja {' '.join(words)} failed:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        return run.stdout

    def sources(self, *targets):
        """Commands that compile one source each, by the object they make."""
        found = {}
        for line in self.ninja("-t", "commands", *targets).splitlines():
            # Those of several steps link, and may have a -c of a shell.
            one = (" -c " in line and " -o " in line or "/precompile.sh " in line) and not line.startswith(": &&")
            words = shlex.split(line) if one else []
            if words[:1] == ["cd"]:  # a header that is compiled beforehand; what follows is for ninja
                words = words[words.index("&&") + 1:]
                words = words[:words.index("&&")] if "&&" in words else words
            if "-c" in words:
                found[words[words.index("-o") + 1]] = words
            elif words:  # precompile.sh HEADER PARSED ...
                found[words[2]] = words
        return found


def is_parsed_header(output):
    return output.endswith((".gch", ".pch"))


def seconds(tree, words, keep=False):
    """Processor time of one compilation; its object is thrown away, unless others want it."""
    with tempfile.TemporaryDirectory() as trash:
        words = list(words)
        for k in range(len(words) - 1):
            if words[k] in ("-o", "-MF") and not keep:
                words[k + 1] = f"{trash}/out{k}"
        child = subprocess.Popen(words, cwd=tree.build, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=NOTHING_KEPT)
        error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"bench: a source does not compile:\n{shlex.join(words)}\n{error.decode(errors='replace')[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def chosen(name, sample):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % sample == 0


def main():
    parser = argparse.ArgumentParser(prog="./dev bench build", description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="compile every Nth source only (1: all)")
    parser.add_argument("--base", default=BASE, metavar="COMMIT", help=f"what to compare with ({BASE})")
    args = parser.parse_args()
    if args.sample < 1:
        parser.error("--sample wants a number from 1")
    try:
        git("cat-file", "-e", args.base + "^{commit}")
    except subprocess.CalledProcessError:
        sys.exit(f"bench: this clone has no commit {args.base}: fetch the whole history (git fetch --unshallow), or name another with --base")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="empi-bench-build-"))
    try:
        trees = {"": Tree("HEAD", folder / "new"), "base_": Tree(args.base, folder / "base")}
        work = []
        total, product = dict.fromkeys(trees, 0.0), dict.fromkeys(trees, 0.0)
        for name, tree in trees.items():
            every = tree.sources(*tree.targets)
            headers = {o: words for o, words in every.items() if is_parsed_header(o)}
            some = {o: words for o, words in every.items() if chosen(o, args.sample) and o not in headers}
            in_default = tree.sources("all")
            note(f"{name or 'this '}commit: {len(every)} sources, of which {len(some)} are compiled")
            work += [(name, tree, o, words, o in in_default) for o, words in some.items()]
            for words in headers.values():  # all of them, however few sources that include them are compiled
                total[name] += seconds(tree, words, keep=True)
        random.Random(1).shuffle(work)  # the machine's moods fall on both alike
        for k, (name, tree, _, words, in_product) in enumerate(work):
            spent = seconds(tree, words) * args.sample
            total[name] += spent
            product[name] += spent * in_product
            if k % 50 == 49:
                note(f"{k + 1} of {len(work)}")
        print(f"bench build.cpu_ratio {total[''] / total['base_']:.3f} 1")
        for name in trees:
            print(f"bench build.{name}cpu {total[name]:.0f} s")
            print(f"bench build.{name}product_cpu {product[name]:.0f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one checkout has compiled, another one takes from the compiler's cache as it is: a library of two sources and one that
is compiled apart, and a test with a header that was parsed beforehand, in cmake/compiling.cmake's and clang.cmake's ways. And
nothing of the project is told at compile time where the checkout is.

Usage: compiling_test.py CHECKOUT BUILD-FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

CHECKOUT = pathlib.Path(sys.argv.pop(1))
BUILD = pathlib.Path(sys.argv.pop(1))
PROJECT = {
    "CMakeLists.txt": """\
        cmake_minimum_required(VERSION 3.25)
        project(Small LANGUAGES C CXX)
        set(CMAKE_CXX_STANDARD 20)
        set(CMAKE_CXX_EXTENSIONS OFF)
        set(CMAKE_UNITY_BUILD ON)
        include(cmake/compiling.cmake)
        include(cmake/clang.cmake)
        include_directories(${CMAKE_SOURCE_DIR})
        add_compile_options(-g1)
        add_subdirectory(room)
        """,
    "room/CMakeLists.txt": """\
        add_library(pair first.cpp second.cpp alone.cpp)
        empi_apart(alone.cpp)
        add_executable(pair_test pair_test.cpp more_test.cpp)
        target_link_libraries(pair_test PRIVATE pair)
        empi_by_clang(pair_test)
        target_compile_options(pair_test PRIVATE -O0)
        empi_precompiled(pair_test plain -g1 -O0)
        """,
    "room/pair.hpp": "#include <cassert>\nint first(int);\nint second(int);\nint alone(int);\n",
    "room/first.cpp": '#include "room/pair.hpp"\nint first(int a) { assert(a); return a; }\n',
    "room/second.cpp": '#include "room/pair.hpp"\nint second(int a) { assert(a); return a; }\n',
    "room/alone.cpp": '#include "room/pair.hpp"\nint alone(int a) { assert(a); return a; }\n',
    "room/more_test.cpp": "#include <string>\nstd::string where() { return __FILE__; }\n",
    "room/pair_test.cpp": """\
        #include "room/pair.hpp"
        #include <cstdio>
        #include <string>
        std::string where();
        int main() { std::puts(where().c_str()); return first(1) + second(1) + alone(1) - 3; }
        """,
    "cmake/testing/precompiled.hpp": "#include <string>\n",
}


class Compiling(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="empi-compiling.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, checkout, **changed):
        """What the cache said of each source that was asked for, in the checkout of this name."""
        if not shutil.which("ccache"):
            self.skipTest("there is no ccache")
        source = self.folder / checkout
        for name, text in {**PROJECT, **changed}.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(textwrap.dedent(text))
        for name in ("compiling.cmake", "clang.cmake", "testing/instead.sh", "testing/precompile.sh"):
            shutil.copy(CHECKOUT / "cmake" / name, source / "cmake" / name)
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CCACHE_")}
        environment.update(CCACHE_DIR=str(self.folder / "cache"), CCACHE_STATSLOG=str(log))
        for command in ["cmake", "-S", source, "-B", source / "build", "-G", "Ninja"], ["cmake", "--build", source / "build"]:
            run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(run.returncode, 0, run.stdout)
        said = {}
        for line in log.read_text().splitlines() if log.exists() else []:
            if line.startswith("# "):
                said[name := pathlib.Path(line[2:]).name] = []
            else:
                said[name].append(line)
        return said

    def test_another_checkout_compiles_nothing(self):
        first = self.build("a")
        self.assertEqual(sorted(first), ["alone.cpp", "pair.cpp", "pair_test.cpp"])
        for source, said in first.items():
            self.assertIn("cache_miss", said, source)
        second = self.build("R&D/another one")
        self.assertEqual(second, {source: ["direct_cache_hit", "local_storage_hit", "local_storage_read_hit",
                                           "local_storage_read_hit"] for source in first})
        test = subprocess.run([self.folder / "R&D/another one/build/room/pair_test"], capture_output=True, text=True, check=True)
        self.assertEqual(test.stdout, "room/more_test.cpp\n")
        made = [*self.folder.glob("**/libpair.a"), *self.folder.glob("**/pair_test")]
        self.assertEqual(len(made), 4)
        for file in made:
            self.assertNotIn(str(self.folder), file.read_bytes().decode("latin1"))

    def test_what_is_included_is_compiled_anew_when_it_changes(self):
        self.build("a")
        changed = self.build("b", **{"room/pair.hpp": PROJECT["room/pair.hpp"] + "int third(int);\n"})
        self.assertEqual({source for source, said in changed.items() if "cache_miss" in said}, {"alone.cpp", "pair.cpp", "pair_test.cpp"})
        changed = self.build("c", **{"room/second.cpp": '#include "room/pair.hpp"\nint second(int a) { return a; }\n'})
        self.assertEqual({source for source, said in changed.items() if "cache_miss" in said}, {"pair.cpp"})

    def test_no_definition_names_the_checkout(self):
        # As ninja and the shell write it.
        places = [re.escape(str(place)).replace(r"\ ", r"[$\\]* ") + r"(?![\w.-])" for place in (CHECKOUT, BUILD)]
        wrong, edge = {}, ""
        for line in (BUILD / "build.ninja").read_text().splitlines():
            if line.startswith("build "):
                edge = line.split(": ")[0].removeprefix("build ")
            elif line.startswith("  DEFINES = ") and any(re.search(place, line) for place in places):
                wrong[edge] = line
        self.assertEqual(wrong, {}, "a test asks when it runs: runtime/base/testing/places.hpp")


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    sys.exit(1 if not done.wasSuccessful() else 77 if done.skipped else 0)

# SPDX-License-Identifier: Apache-2.0
"""containers/install.sh, elastic-mpi-install of the images: the runtime in a volume, whole and at once.

Usage: install_volume_test.py SOURCE-FOLDER AGENT
"""
import filecmp
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, AGENT = map(pathlib.Path, sys.argv[1:3])


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="empi-install.")
        self.addCleanup(folder.cleanup)
        self.image = pathlib.Path(folder.name) / "image"
        self.volume = pathlib.Path(folder.name) / "volume"
        for made in (self.image / "bin", self.image / "lib", self.volume):
            made.mkdir(parents=True)
        shutil.copy(SOURCE / "containers" / "install.sh", self.image / "bin" / "install")
        shutil.copy(AGENT, self.image / "bin" / "elastic-mpi-agent")
        (self.image / "lib" / "libelastic_mpi.so.0").write_text("of the ranks")
        (self.image / "lib" / "libelastic_mpi.so").symlink_to("libelastic_mpi.so.0")

    def install(self, *arguments):
        return subprocess.run(["sh", self.image / "bin" / "install", *(arguments or [self.volume])], capture_output=True, text=True, check=False)

    def installed(self):
        done = self.install()
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        return {path.relative_to(self.volume).as_posix(): path.lstat().st_ino for path in self.volume.rglob("*") if not path.is_dir()}

    def test_what_the_agent_needs_goes_along(self):
        there = self.installed()
        self.assertTrue(filecmp.cmp(AGENT, self.volume / "bin" / "elastic-mpi-agent", shallow=False))
        self.assertEqual((self.volume / "lib" / "libelastic_mpi.so").read_text(), "of the ranks")
        self.assertFalse((self.volume / "lib" / "libelastic_mpi.so").is_symlink())
        libraries = [path.removeprefix("lib/agent/") for path in there if path.startswith("lib/agent/")]
        for needed in ("libcpp-httplib.so", "libssl.so", "libstdc++.so"):
            self.assertTrue(any(name.startswith(needed) for name in libraries), f"{needed} in {libraries}")
        for others in ("libc.so", "libm.so", "ld-linux", "libpmix.so", "libevent", "libhwloc.so"):  # are of the pod's own image
            self.assertFalse(any(name.startswith(others) for name in libraries), f"{others} in {libraries}")

    def test_what_is_there_already_stays(self):
        first = self.installed()
        self.assertEqual(self.installed(), first)

    def test_what_is_new_appears_beside_a_running_agent_and_nothing_else_changes(self):
        first = self.installed()
        (self.image / "lib" / "libelastic_mpi.so.0").write_text("of newer ranks")
        with open(self.volume / "lib" / "libelastic_mpi.so") as mapped:
            second = self.installed()
            self.assertEqual(mapped.read(), "of the ranks")
        self.assertEqual((self.volume / "lib" / "libelastic_mpi.so").read_text(), "of newer ranks")
        self.assertEqual({path for path in first if first[path] != second[path]}, {"lib/libelastic_mpi.so", "lib/libelastic_mpi.so.0"})

    def test_a_newer_agent_takes_the_place_of_one_that_runs(self):
        first = self.installed()
        with open(self.image / "bin" / "elastic-mpi-agent", "ab") as agent:
            agent.write(b"newer")
        second = self.installed()
        self.assertEqual({path for path in first if first[path] != second[path]}, {"bin/elastic-mpi-agent"})

    def test_what_was_interrupted_is_done_anew(self):
        first = self.installed()
        library = next(path for path in first if path.startswith("lib/agent/libssl"))
        (self.volume / library).write_bytes(b"half")
        (self.volume / "bin" / "elastic-mpi-agent").rename(self.volume / "bin" / ".new")
        self.assertEqual(self.installed().keys(), first.keys())
        self.assertGreater((self.volume / library).stat().st_size, 4)

    def test_where_a_file_cannot_be_copied_it_fails_and_there_is_no_new_agent(self):
        broken = self.image / "lib" / "liba.so"
        broken.symlink_to("nowhere")  # before the others
        self.assertNotEqual(self.install().returncode, 0)
        self.assertFalse((self.volume / "bin" / "elastic-mpi-agent").exists())
        broken.unlink()
        first = self.installed()
        broken.symlink_to("nowhere")
        with open(self.image / "bin" / "elastic-mpi-agent", "ab") as agent:
            agent.write(b"newer")
        self.assertNotEqual(self.install().returncode, 0)
        self.assertEqual((self.volume / "bin" / "elastic-mpi-agent").stat().st_ino, first["bin/elastic-mpi-agent"])

    def test_without_a_folder_it_says_what_to_do(self):
        refused = self.install(self.volume / "none")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("mount an emptyDir there", refused.stderr)
        self.assertEqual(self.install("one", "two").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

# SPDX-License-Identifier: Apache-2.0
"""containers/lock.py: one version of each package in all images, and whatever differs is named."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "containers"))
import lock  # noqa: E402


class Lock(unittest.TestCase):
    def test_what_was_written_is_taken(self):
        images = {"operator": {"libc6": "2.41-1"}, "runtime": {"libc6": "2.41-1", "libpmix2t64": "5.0.7-1"}}
        self.assertEqual(list(lock.check(lock.write(images), images)), [])

    def test_other_versions_and_packages_are_named(self):
        written = lock.write({"operator": {"libc6": "2.41-1", "zlib1g": "1:1.3=x"}})
        self.assertEqual(list(lock.check(written, {"operator": {"libc6": "2.41-2", "perl": "5", "zlib1g": "1:1.3=x"}})),
                         ["operator: libc6 is 2.41-2, the lock file has 2.41-1", "operator: perl 5 is not in the lock file"])

    def test_images_of_different_times_have_no_lock(self):
        with self.assertRaisesRegex(ValueError, "runtime has libc6 2, another image has 1: make all of them anew"):
            lock.write({"operator": {"libc6": "1"}, "runtime": {"libc6": "2"}})

    def test_what_is_compiled_into_our_programs_is_of_the_build(self):
        listed = {"packages": [{"SPDXID": "SPDXRef-Image", "name": "i", "versionInfo": "0"},
                               {"SPDXID": "SPDXRef-Package-libc6", "name": "libc6", "versionInfo": "2"},
                               {"SPDXID": "SPDXRef-CompiledIn-libcli11-dev", "name": "libcli11-dev", "versionInfo": "3"}]}
        self.assertEqual(lock.contained(listed), {"libc6": "2"})


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""e2e/cluster/join_archives.py: all images are in one docker-archive with what they had, and what they share is once."""
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "e2e/cluster/join_archives.py"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def image(path, tags, layers, *, linked=False):
    """A docker-archive of layers (bytes). `linked`: as `docker save` of old, in folders, where a layer that was before is a link."""
    config = json.dumps({"os": "linux", "of": tags, "rootfs": {"diff_ids": [f"sha256:{digest(layer)}" for layer in layers]}}).encode()
    with tarfile.open(path, "w") as archive:
        def add(name, data):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        names = []
        for number, layer in enumerate(layers):
            names.append(f"{number}/layer.tar" if linked else f"{digest(layer)}.tar")
            if linked and layer in layers[:number]:
                member = tarfile.TarInfo(names[-1])
                member.type, member.linkname = tarfile.SYMTYPE, f"../{layers.index(layer)}/layer.tar"
                archive.addfile(member)
            elif linked or layer not in layers[:number]:
                add(names[-1], layer)
        add("config.json", config)
        add("repositories", b"{}")
        add("manifest.json", json.dumps([{"Config": "config.json", "RepoTags": tags, "Layers": names}]).encode())


def images_in(path):
    """Of each tag what it is: configuration, and its layers' contents; and how many members there are."""
    with tarfile.open(path) as archive:
        members = archive.getnames()
        read = lambda name: archive.extractfile(name).read()  # noqa: E731
        found = {}
        for entry in json.loads(read("manifest.json")):
            config = json.loads(read(entry["Config"]))
            layers = [read(name) for name in entry["Layers"]]
            assert [f"sha256:{digest(layer)}" for layer in layers] == config["rootfs"]["diff_ids"]
            for tag in entry["RepoTags"]:
                found[tag] = (config["of"], layers)
        return found, members


class Joined(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="empi-join.")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def join(self, *names):
        return subprocess.run([sys.executable, PROGRAM, self.place / "out.tar", *(self.place / name for name in names)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)

    def test_all_images_are_there_and_what_they_share_is_once(self):
        image(self.place / "a.tar", ["here/a:1"], [b"base", b"of a"])
        image(self.place / "b.tar", ["here/b:1", "here/b:2"], [b"base", b"of b", b""])
        image(self.place / "c.tar", ["here/c:1"], [b"base", b"", b"base"], linked=True)
        ended = self.join("a.tar", "b.tar", "c.tar")
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))
        found, members = images_in(self.place / "out.tar")
        self.assertEqual(found, {"here/a:1": (["here/a:1"], [b"base", b"of a"]),
                                 "here/b:1": (["here/b:1", "here/b:2"], [b"base", b"of b", b""]),
                                 "here/b:2": (["here/b:1", "here/b:2"], [b"base", b"of b", b""]),
                                 "here/c:1": (["here/c:1"], [b"base", b"", b"base"])})
        self.assertEqual(len(members), 4 + 3 + 1, f"four layers, three configurations and the manifest: {members}")
        self.assertEqual(len(set(members)), len(members))

    def test_what_is_none_is_refused_in_one_line(self):
        image(self.place / "a.tar", ["here/a:1"], [b"base"])
        (self.place / "text.tar").write_text("no archive " * 100)
        with tarfile.open(self.place / "empty.tar", "w"):
            pass
        for other in ("text.tar", "empty.tar", "none.tar"):
            ended = self.join("a.tar", other)
            self.assertNotEqual(ended.returncode, 0)
            self.assertEqual(ended.stdout.count("\n"), 1, ended.stdout)
            self.assertIn(other, ended.stdout)


if __name__ == "__main__":
    unittest.main()

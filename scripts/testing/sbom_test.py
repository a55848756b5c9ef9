# SPDX-License-Identifier: Apache-2.0
"""containers/sbom.py lists what an image holds after its last layer, and nothing that a layer took away."""
import io
import json
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "containers"))
import sbom  # noqa: E402


def tar(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue().decode("latin1")


def status(*packages):
    return "\n".join(f"Package: {name}\nStatus: {state}\nArchitecture: amd64\nVersion: {version}\n"
                     for name, version, state in packages)


OLD = status(("libc6", "2.41-1", "install ok installed"), ("apt", "3.0", "install ok installed"))
NEW = status(("libc6", "2.41-2", "install ok installed"), ("apt", "3.0", "deinstall ok config-files"),
             ("libpng", "1:1.6+dfsg", "install ok installed"))
BUILD = status(("libcli11-dev", "2.4.1", "install ok installed"), ("g++", "14", "install ok installed"),
               ("libeigen3-dev", "3.4.0", "install ok installed"))


class Sbom(unittest.TestCase):
    def of(self, *layers):
        with tempfile.NamedTemporaryFile(suffix=".tar") as file:
            names = [f"{number}.tar" for number in range(len(layers))]
            parts = {"manifest.json": json.dumps([{"Config": "c.json", "RepoTags": ["localhost/one:1"], "Layers": names}]),
                     "c.json": '{"created": "2026-01-02T03:04:05.678Z"}'}
            with tarfile.open(file.name, "w") as outer:
                for name, text in {**parts, **dict(zip(names, map(tar, layers)))}.items():
                    data = text.encode("latin1")
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    outer.addfile(member, io.BytesIO(data))
            return sbom.document(sbom.Image(file.name), "0.1.0", BUILD)

    def versions(self, document):
        return {package["name"]: package["versionInfo"] for package in document["packages"]}

    def test_the_last_layers_packages_count(self):
        document = self.of({"var/lib/dpkg/status": OLD}, {"./var/lib/dpkg/status": NEW})
        self.assertEqual(self.versions(document),
                         {"localhost/one:1": "0.1.0", "libc6": "2.41-2", "libpng": "1:1.6+dfsg"})
        purl = document["packages"][2]["externalRefs"][0]["referenceLocator"]
        self.assertEqual(purl, "pkg:deb/debian/libpng@1%3A1.6%2Bdfsg?arch=amd64&distro=debian-13")
        self.assertEqual(document["creationInfo"]["created"], "2026-01-02T03:04:05Z")

    def test_our_programs_and_what_was_compiled_into_them(self):
        document = self.of({"usr/local/bin/empi": "program", "usr/local/bin/other": "x", "etc/passwd": "x"})
        self.assertEqual([file["fileName"] for file in document["files"]], ["/usr/local/bin/empi"])
        self.assertEqual(self.versions(document), {"localhost/one:1": "0.1.0", "libcli11-dev": "2.4.1"})
        self.assertIn("libeigen3-dev", self.versions(self.of({"usr/local/bin/empi-spe10": "program"})))

    def test_what_a_layer_removes_is_not_listed(self):
        document = self.of({"opt/elastic-mpi-image/bin/a": "a", "usr/local/bin/empi": "b"},
                           {"opt/elastic-mpi-image/.wh.bin": "", "usr/local/bin/.wh.empi": ""})
        self.assertEqual(document["files"], [])

    def test_every_relationship_is_between_things_that_there_are(self):
        document = self.of({"var/lib/dpkg/status": NEW, "opt/elastic-mpi-image/lib/x.so": "x"})
        known = {"SPDXRef-DOCUMENT"} | {thing["SPDXID"] for thing in document["packages"] + document["files"]}
        ends = {end for relation in document["relationships"]
                for end in (relation["spdxElementId"], relation["relatedSpdxElement"])}
        self.assertEqual(ends, known)
        self.assertEqual(len(known), 1 + len(document["packages"]) + len(document["files"]))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an image is made of, as SPDX 2.3: the Debian packages that it knows as installed, the programs that this project
put there, and the libraries whose headers were compiled into those.

Usage: sbom.py DOCKER-ARCHIVE VERSION [DPKG-STATUS-OF-THE-BUILD]      the document goes to standard output
"""
import datetime
import hashlib
import json
import pathlib
import re
import sys
import tarfile
import urllib.parse

# Compiled into our programs, and into which: of their packages nothing is left that an image could list.
ANY = r".*"
COMPILED_IN = {"nlohmann-json3-dev": ANY, "libcli11-dev": ANY, "libspdlog-dev": ANY, "libcpp-httplib-dev": ANY,
               "libeigen3-dev": r".*/empi-spe10", "librandom123-dev": r".*/empi-surrogate"}
OURS = re.compile(r"(opt/elastic-mpi-image/.*|usr/local/bin/(empi|elastic-mpi).*)$")


def packages(status):
    """name -> (version, architecture) of what a dpkg status says is installed."""
    found = {}
    for paragraph in status.split("\n\n"):
        field = dict(re.findall(r"^(Package|Version|Architecture|Status): (.*)$", paragraph, re.M))
        if field.get("Status", "").endswith(" installed"):
            found[field["Package"]] = (field["Version"], field.get("Architecture", "all"))
    return found


class Image:
    """The files of a docker-archive, as its layers leave them."""

    def __init__(self, archive):
        self.status, self.files = "", {}
        with tarfile.open(archive) as outer:
            manifest = json.load(outer.extractfile("manifest.json"))[0]
            self.name = (manifest["RepoTags"] or [pathlib.Path(archive).stem])[0]
            config = outer.extractfile(manifest["Config"]).read()
            self.digest = hashlib.sha256(config).hexdigest()
            self.created = json.loads(config).get("created", "")
            for layer in manifest["Layers"]:
                with tarfile.open(fileobj=outer.extractfile(layer)) as files:
                    self._add(files)

    def _add(self, layer):
        for member in layer:
            path = member.name.removeprefix("./").lstrip("/")
            folder, _, base = path.rpartition("/")
            if base.startswith(".wh."):  # removed by this layer
                gone = f"{folder}/{base.removeprefix('.wh.')}".lstrip("/")
                self.files = {name: sums for name, sums in self.files.items()
                              if name != gone and not name.startswith(gone + "/")}
            elif path == "var/lib/dpkg/status":
                self.status = layer.extractfile(member).read().decode()
            elif member.isfile() and OURS.match(path):
                data = layer.extractfile(member).read()
                self.files[path] = (hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest())


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def debian(name, version, architecture, kind="Package"):
    url = f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?arch={architecture}&distro=debian-13"
    return {"SPDXID": identifier(kind, name), "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}]}


def document(image, version, build_status):
    whole = "SPDXRef-Image"
    listed = [{"SPDXID": whole, "name": image.name, "versionInfo": version, "supplier": "NOASSERTION",
               "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
               "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "primaryPackagePurpose": "CONTAINER",
               "checksums": [{"algorithm": "SHA256", "checksumValue": image.digest}]}]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", whole)]
    for name, (number, architecture) in sorted(packages(image.status).items()):
        listed.append(debian(name, number, architecture))
        relations.append((whole, "CONTAINS", identifier("Package", name)))
    built_with = packages(build_status)
    for name, programs in COMPILED_IN.items():
        if name in built_with and any(re.fullmatch(programs, path) for path in image.files):
            listed.append(debian(name, *built_with[name], kind="CompiledIn"))
            relations.append((identifier("CompiledIn", name), "STATIC_LINK", whole))
    files = []
    for path, (sha1, sha256) in sorted(image.files.items()):
        files.append({"SPDXID": identifier("File", path), "fileName": "/" + path, "licenseConcluded": "Apache-2.0",
                      "licenseInfoInFiles": ["Apache-2.0"], "copyrightText": "NOASSERTION",
                      "checksums": [{"algorithm": "SHA1", "checksumValue": sha1},
                                    {"algorithm": "SHA256", "checksumValue": sha256}]})
        relations.append((whole, "CONTAINS", identifier("File", path)))
    created = image.created[:19] + "Z" if image.created else \
        datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": image.name,
            "documentNamespace": f"https://elasticmpi.io/spdx/{urllib.parse.quote(image.name, safe='')}/{image.digest}",
            "creationInfo": {"created": created, "creators": [f"Tool: elastic-mpi-{version}"]},
            "packages": listed, "files": files,
            "relationships": [{"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other}
                              for one, how, other in relations]}


def main(archive, version, build_status=None):
    status = pathlib.Path(build_status).read_text() if build_status else ""
    json.dump(document(Image(archive), version, status), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which Debian packages images are made of, by their lists beside them (sbom.py): one version of each, in one file.
Debian never gives out other contents under a version again.

Usage: lock.py write LOCK NAME.spdx.json...     writes the file
       lock.py check LOCK NAME.spdx.json...     says what differs from it; exits 1 when anything does
"""
import json
import pathlib
import sys

HEAD = """# What the images are made of. `./dev images --lock` writes this, `./dev images --locked` refuses anything else.
"""


def contained(document):
    """name -> version of the Debian packages in the image; what was compiled into our programs is not meant."""
    return {package["name"]: package["versionInfo"] for package in document["packages"]
            if package["SPDXID"].startswith("SPDXRef-Package-")}


def write(images):
    versions = {}
    for image, packages in images.items():
        for name, version in packages.items():
            if versions.setdefault(name, version) != version:
                raise ValueError(f"{image} has {name} {version}, another image has {versions[name]}: make all of them anew")
    return HEAD + "".join(f"{name}={version}\n" for name, version in sorted(versions.items()))


def check(lock, images):
    """A line for each package that is not as the lock says."""
    locked = dict(line.split("=", 1) for line in lock.splitlines() if line and not line.startswith("#"))
    for image, packages in images.items():
        for name, version in sorted(packages.items()):
            if name not in locked:
                yield f"{image}: {name} {version} is not in the lock file"
            elif locked[name] != version:
                yield f"{image}: {name} is {version}, the lock file has {locked[name]}"


def main(command, lock, *lists):
    lock = pathlib.Path(lock)
    images = {pathlib.Path(path).name.removesuffix(".spdx.json"): contained(json.loads(pathlib.Path(path).read_text()))
              for path in lists}
    if command == "write":
        lock.write_text(write(images))
        return 0
    differs = list(check(lock.read_text(), images))
    for line in differs:
        print(f"images: {line}", file=sys.stderr)
    if differs:
        print("images: a snapshot of Debian's archive has old versions (--snapshot DATE); --lock takes the new ones", file=sys.stderr)
    return 1 if differs else 0


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except (OSError, ValueError) as error:
        sys.exit(f"images: {error}")

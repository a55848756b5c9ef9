#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The images of several docker-archives in one, where layers that they share are once: nodes unpack them once.

Usage: join_archives.py OUT FILE...
"""
import hashlib
import io
import json
import sys
import tarfile


class NoArchive(Exception):
    pass


def join(out, files):
    """Writes docker-archive `out` with the images of all `files`; NoArchive says which of them is no docker-archive."""
    held, manifest = set(), []
    with tarfile.open(out, "w") as joined:

        def hold(name, data):
            """Members are named by their digest, so those of one name are the same."""
            if name in held:
                return name
            held.add(name)
            member = tarfile.TarInfo(name)
            member.size = data.seek(0, io.SEEK_END)
            data.seek(0)
            joined.addfile(member, data)
            return name

        def take(archive):
            for image in json.load(archive.extractfile("manifest.json")):
                config = archive.extractfile(image["Config"]).read()
                digests = json.loads(config)["rootfs"]["diff_ids"]
                if len(digests) != len(image["Layers"]):
                    raise ValueError(f"an image has {len(image['Layers'])} layers, and digests of {len(digests)}")
                # A layer may be a link to an earlier one: extractfile() follows it.
                layers = [hold(f"{digest.removeprefix('sha256:')}.tar", archive.extractfile(layer))
                          for digest, layer in zip(digests, image["Layers"])]
                name = hold(f"{hashlib.sha256(config).hexdigest()}.json", io.BytesIO(config))
                manifest.append({"Config": name, "RepoTags": image["RepoTags"], "Layers": layers})

        for file in files:
            try:
                with tarfile.open(file) as archive:
                    take(archive)
            except (tarfile.TarError, KeyError, ValueError) as problem:
                raise NoArchive(f"{file} is no docker-archive, as ./dev images makes them: {str(problem).splitlines()[0]}") from problem
        hold("manifest.json", io.BytesIO(json.dumps(manifest).encode()))


if __name__ == "__main__":
    try:
        join(sys.argv[1], sys.argv[2:])
    except (NoArchive, OSError) as problem:
        sys.exit(f"images cannot be joined: {problem}")

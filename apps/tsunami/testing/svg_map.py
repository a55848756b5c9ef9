#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promise: the report leaves one map as SVG beside the pictures, for papers: it has a title in words, the wave as one image,
and coast, axes, gauge, letters and colour bar as lines.

Usage: svg_map.py EMPI-TSUNAMI EMPI-TSUNAMI-REPORT
"""
import base64
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"

with tempfile.TemporaryDirectory(prefix="svg-map.") as folder:
    out = pathlib.Path(folder)
    subprocess.run([sys.argv[1], "--data", "none", "--finest", "9", "--end", "3600", "--snapshot-every", "1800", "--maxima", "0",
                    "--out", folder], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.argv[2], folder], check=True, stdout=subprocess.DEVNULL)
    assert [path.name for path in out.glob("*.svg") if not path.with_suffix(".png").exists()] == ["map.svg"]
    root = ElementTree.parse(out / "map.svg").getroot()
    size = (out / "map.svg").stat().st_size
    pngs = len(list(out.glob("wave-*.png")))

assert pngs == 3, pngs
assert root.tag == SVG + "svg" and root[0].tag == SVG + "title"
assert "after the earthquake" in root[0].text, root[0].text
images = list(root.iter(SVG + "image"))
assert len(images) == 1, len(images)
head, _, data = images[0].get(LINK).partition("base64,")
assert head == "data:image/png;" and base64.b64decode(data).startswith(b"\x89PNG"), head
# The coast is one stroke of many pieces; a colour bar has a fill for each of its steps.
paths = list(root.iter(SVG + "path"))
coast = max(path.get("d").count("M ") for path in paths)
assert coast > 100, coast
fills = {path.get("fill") for path in paths} | {rect.get("fill") for rect in root.iter(SVG + "rect")}
assert len(fills) > 50, len(fills)
letters = [use for use in root.iter(SVG + "use") if "glyph" in use.get(LINK, "")]
assert len(letters) > 50, len(letters)
print(f"{size} bytes, coast of {coast} pieces, {len(fills)} colours, {len(letters)} letters")

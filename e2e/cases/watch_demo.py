#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a demo without a terminal and checks what a user sees while it runs, at its end, and when it is ended early.

Usage: watch_demo.py whole|ended DIR -- COMMAND [ARGS]      COMMAND is the demo, which leaves its results in DIR
  whole: to its end. There is a whole picture, and a page that shows it, while the job runs; progress is reported.
  ended: SIGTERM as soon as a picture is there. No process is left behind; the pictures are those of a report.
Waits for as long as the demo comes forward, however slow the machine. Prints what is wrong and exits 1.
"""
import html.parser
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time
import urllib.parse

PATIENCE = 180  # s without any progress
mode, folder, separator = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
assert mode in ("whole", "ended") and separator == "--", __doc__
MARK = f"EMPI_TEST_MARK=demo-{os.getpid()}-{time.time_ns()}"


class Page(html.parser.HTMLParser):
    """The pictures that a page shows, and all that it points to."""

    def __init__(self, text):
        super().__init__()
        self.pictures, self.links, self.refreshes = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "img":
            assert values.get("alt"), f"{values} has no text for those who cannot see it"
            self.pictures.append(urllib.parse.unquote(values["src"]).removeprefix("./"))
        self.refreshes |= values.get("http-equiv") == "refresh"
        self.links += [values[name] for name in ("src", "href") if name in values]


def look():
    """The page, or None. It holds every picture that is there at both ends of the look, and none that is not."""
    path = folder / "index.html"
    before = {p.name for p in folder.glob("*.png")}
    if not path.exists():
        return None
    written = path.stat().st_mtime_ns
    page = Page(path.read_text())
    after = {p.name for p in folder.glob("*.png")}
    assert set(page.pictures) <= after, f"shown, but not there: {set(page.pictures) - after}"
    for link in page.links:
        assert not re.match(r"[a-z]+:|//", link), f"{link} is elsewhere"
        assert (folder / urllib.parse.unquote(link)).exists(), f"{link} is not there"
    if path.stat().st_mtime_ns == written and before == after:
        page.complete = set(page.pictures) == after
    else:
        page.complete = False  # it changed meanwhile
    return page


def whole_png(path):
    data = path.read_bytes()
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND" and min(struct.unpack(">II", data[16:24])) >= 200


def marked_processes():
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(f"{process.name} {(process / 'cmdline').read_bytes().decode(errors='replace')}")
        except OSError:
            pass
    return found


def progress():
    """Of the simulation, and of who draws it. Not of the log, which also a job that stands still writes."""
    step = folder / "progress.json"
    return step.read_bytes() if step.exists() else b"", sorted(p.name for p in folder.glob("*.png"))


def wait_for(what, condition):
    """What the condition gives, once it gives something."""
    seen, end = None, 0
    while not (result := condition()):
        if (now := progress()) != seen:
            seen, end = now, time.monotonic() + PATIENCE
        assert time.monotonic() < end, f"in vain, and without progress for {PATIENCE} s: {what}"
        time.sleep(0.1)
    return result


def still(demo, condition):
    """The condition, of a demo that has not ended without it."""
    ended = demo.poll() is not None
    result = condition()
    assert result or not ended, f"the demo ended with {demo.returncode} before"
    return result


def shown_while_running():
    """A whole picture on disk, shown by the page, while the job runs."""
    page = look()
    pictures = list(folder.glob("*.png"))
    if not pictures or page is None or not page.pictures or (folder / "summary.json").exists():
        return None
    return page if all(map(whole_png, pictures)) else None


def all_shown():
    """Several pictures, and the page has all that are there."""
    page = look()
    return page and page.complete and len(page.pictures) > 1


def niceness(command):
    name = command.split("\0")[0].split(" ", 1)
    return int(pathlib.Path(f"/proc/{name[0]}/stat").read_text().rpartition(")")[2].split()[16])


def compare_with_report():
    """What was drawn beside the job is not what remains: a report afterwards draws the same."""
    drawn = {p.name: p.read_bytes() for p in folder.glob("*.png")}
    report = next(p for p in ("spe10", "surrogate", "tsunami") if (folder / f"{p}.json").exists())
    subprocess.run([f"empi-{report}-report", folder], check=True, stdout=subprocess.DEVNULL)
    again = {p.name: p.read_bytes() for p in folder.glob("*.png")}
    assert drawn == again, f"not the pictures of the ended run: {[n for n in again if drawn.get(n) != again[n]]}"


def main():
    log = folder.with_suffix(".log")
    started = time.monotonic()
    with open(log, "w") as output:
        name, value = MARK.split("=")
        demo = subprocess.Popen(sys.argv[4:], env={**os.environ, name: value}, stdin=subprocess.DEVNULL,
                                stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        page = wait_for("a picture while the job runs", lambda: still(demo, shown_while_running))
        print(f"the first picture ({page.pictures[0]}) was there {time.monotonic() - started:.0f} s after the start")
        assert page.refreshes, "the page of a running job does not load itself again"
        painters = [p for p in marked_processes() if "--follow" in p]
        assert painters and all(niceness(p) == 19 for p in painters), f"who draws has the lowest priority: {painters}"
        if mode == "ended":
            demo.send_signal(signal.SIGTERM)
            wait_for("its end after SIGTERM", lambda: demo.poll() is not None)
            assert demo.returncode != 0, "a demo that was ended says that all is well"
        else:
            wait_for("a page with all pictures", lambda: still(demo, all_shown))
            wait_for("its end", lambda: demo.poll() is not None)
            assert demo.returncode == 0, f"the demo failed with {demo.returncode}"
    except BaseException:
        print(log.read_text(), flush=True)
        raise
    finally:
        if demo.poll() is None:
            demo.terminate()
            demo.wait(60)
    text = log.read_text()
    print(text, flush=True)
    assert marked_processes() == [], "left behind"
    assert not list(folder.glob("*.part*")), "half-written files are left"
    page = look()
    assert page.complete and not page.refreshes, "the page at the end is not complete"
    if mode == "ended":
        compare_with_report()
        return
    # Without a terminal: a plain line now and then.
    lines = [line for line in text.splitlines() if re.search(r"\d\d:\d\d:\d\d  \d+ workers?.*, \d+ %, .*simulated", line)]
    assert lines and "\x1b" not in text, "no progress, or escape sequences without a terminal"
    assert any("left" in line for line in lines), "no time left"
    listed = {line.strip() for line in text.splitlines() if line.strip().endswith(".png")}
    assert listed == {str(p) for p in folder.glob("*.png")}, f"listed at the end: {listed}"


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev ends what it runs, whichever way it is ended. Enters the root a second time from within.

Usage: dev_test.py PROJECT [CASE...]
"""
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time

DEV = pathlib.Path(sys.argv[1]) / "dev"
PATIENCE = 60  # s; the machine may be busy
# The outer half of ./dev again, with the root that we are in.
# What the run of tests around this was told (EMPI_PRESET, ...) is not for the calls in here.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("EMPI_")}
ENVIRONMENT["EMPI_CACHE"] = "/cache"
MARK = f"600.{os.getpid()}{time.time_ns()}"  # an argument of `sleep` that nobody else uses
READY = "echo ready;"


def cmdline(pid):
    try:
        return (pathlib.Path("/proc") / str(pid) / "cmdline").read_text()
    except OSError:  # it has ended
        return ""


def marked():
    pids = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and MARK in cmdline(pid)]


def sleeping():
    """The command itself has begun; the shells that will start it have MARK in their arguments too."""
    return any(cmdline(pid) == f"sleep\0{MARK}\0" for pid in marked())


def start(command, **options):
    # A group of its own, as under `timeout`: no signal of the terminal reaches it.
    return subprocess.Popen([DEV, "shell", command], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                            process_group=0, restore_signals=True, **options)


def wait_until_ready(process):
    line = process.stdout.readline()
    assert line == "ready\n", f"expected 'ready' of the command inside, got {line!r}"


def expect_nothing_left():
    end = time.monotonic() + PATIENCE
    while marked():
        assert time.monotonic() < end, f"still running: {marked()}"
        time.sleep(0.05)


def ended_by(number, command=f"{READY} sleep {MARK}"):
    process = start(command)
    wait_until_ready(process)
    assert marked(), "the test does not see what it runs"
    process.send_signal(number)
    status = process.wait(PATIENCE)
    expect_nothing_left()
    return status, process.stdout.read()


def term():
    ended = ended_by(signal.SIGTERM)
    assert ended == (-signal.SIGTERM, ""), ended


def interrupt():
    ended = ended_by(signal.SIGINT)
    assert ended == (-signal.SIGINT, ""), ended


def kill():
    assert ended_by(signal.SIGKILL)[0] == -signal.SIGKILL


def children_too():
    assert ended_by(signal.SIGTERM, f"setsid sleep {MARK} & sleep {MARK} & {READY} wait")[0] == -signal.SIGTERM


def asked_first():
    """A program that handles the signal ends in its own way, with its own status."""
    # Short sleeps, no `wait`: a shell that has the signal just before it begins to wait runs the trap afterwards.
    ended = ended_by(signal.SIGTERM, f"trap 'echo asked; exit 9' TERM; {READY} while :; do sleep 0.1; done; : {MARK}")
    assert ended == (9, "asked\n"), ended


def timeout():
    result = subprocess.run(["timeout", "3", DEV, "shell", f"sleep {MARK}"], env=ENVIRONMENT, timeout=PATIENCE,
                            capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (124, "", ""), result
    expect_nothing_left()


def passes_through():
    """Input, output and the exit status."""
    result = subprocess.run([DEV, "shell", "tr a-z A-Z; exit 7"], env=ENVIRONMENT, timeout=PATIENCE, input="words",
                            capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (7, "WORDS", ""), result


def same_language():
    """Whatever the user's language: words that tests read are the same, and so is what the compiler cache looks up."""
    result = subprocess.run([DEV, "shell", "env | grep -E '^(LANG|LANGUAGE|LC_)'"], timeout=PATIENCE, text=True,
                            env=ENVIRONMENT | {"LANG": "de_DE.UTF-8", "LANGUAGE": "de", "LC_ALL": "de_DE.UTF-8"},
                            capture_output=True)
    assert sorted(result.stdout.split()) == ["LANG=C.UTF-8", "LC_ALL=C.UTF-8"], result


def terminal():
    """Ctrl-C reaches the command inside, once; ./dev goes on waiting for it."""
    child, master = pty.fork()
    if child == 0:
        command = f"n=0; trap 'n=$((n+1)); echo caught $n' INT; {READY} sleep {MARK}; sleep 1; exit $((40+n))"
        os.execve(DEV, [str(DEV), "shell", command], ENVIRONMENT)
    text, end, pressed = "", time.monotonic() + PATIENCE, False
    while True:
        assert time.monotonic() < end, text
        if "ready" in text and not pressed and sleeping():
            os.write(master, b"\x03")
            pressed = True
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            text += os.read(master, 4096).decode()
        except OSError:  # the last one has closed the terminal
            break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 41 and "caught 1" in text, (status, text)
    expect_nothing_left()


CASES = [passes_through, term, interrupt, kill, children_too, asked_first, timeout,
         same_language, terminal]

if __name__ == "__main__":
    if "EMPI_INSIDE_ROOT" not in os.environ:
        print("skipped: not inside a root of ./dev, and making one takes a while")
        sys.exit(77)
    wanted = sys.argv[2:]
    for case in CASES:
        if not wanted or case.__name__ in wanted:
            print(case.__name__, flush=True)
            case()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What runs in ./dev finds this machine's folders and leaves its results there, and what neither has is refused; and what
is built for it first.

Usage: dev_reach_test.py PROJECT [CASE...]
"""
import os
import pathlib
import shutil
import subprocess
import sys

from cases import run_cases
from dev_again import DEV, ENVIRONMENT, PATIENCE, PRIVATE, PROJECT, WORK, in_bash, programs_instead, refused, run, runs


def outputs():
    """What a command says it has written is there afterwards; where it cannot be, nothing runs."""
    refused(run("run", "true", "--out", ""), "--out needs the name of a folder")
    (WORK / "loop").symlink_to("loop")
    refused(run("run", "true", "--out", "loop/results"), f"{WORK}/loop is not a folder")
    empty = {"mount": "exec \"$@\""}
    for folder in ("/etc/out", "/usr/local/out", "/var/lib/out", "/run/out", "/dev/shm/out"):
        refused(run("run", "true", "--out", folder), folder, "--out")
        refused(run("run", "true", f"--out={folder}"), folder, "--out")
        refused(run("run", "empi", "run", "job.yaml", "-o", folder), folder, "--out")
        refused(run("run", "empi", "run", f"-o{folder}", "job.yaml"), folder, "--out")
    (WORK / "readonly").mkdir()
    for options, said in (("size=2m,ro", "cannot write"), ("size=500k", "no space is left")):
        empty["mount"] = f"mount -t tmpfs -o {options} place {WORK}/readonly; exec \"$@\""
        refused(run("demo", "--out", "readonly/results", before=[*PRIVATE, "sh", "-c", empty["mount"], "-"]), said)
    (WORK / "link").symlink_to("/usr/local")
    refused(run("demo", "--out", "link/results"), "--out")
    (WORK / "file").touch()
    refused(run("demo", "--out", "file/results"), "not a folder")
    data = WORK / "data"
    data.mkdir()
    refused(run("demo", "--out", "data/results", EMPI_DATA=str(data)), "read-only")
    for folder in (PROJECT / "out", WORK, pathlib.Path("/tmp"), pathlib.Path("/var/tmp")):
        target = folder / f"empi-written.{os.getpid()}"
        runs(run("shell", f"mkdir -p {folder} && echo written >{target}"))
        assert target.read_text() == "written\n", target
        target.unlink()


def results_are_where_they_were_asked_for():
    """Of a command, and of a benchmark or demo, which run in another folder than the user is in."""
    trace = WORK / "trace.swf"
    trace.write_text("; MaxProcs: 8\n" + "".join(f"{k} {60 * k} 0 600 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 9)))
    (WORK / "a place").mkdir()
    for out, there in (("results", WORK / "results"), ("a place/of mine", WORK / "a place/of mine"), (f"{WORK}/home", WORK / "home"),
                       (f"/tmp/empi-out.{os.getpid()}", None), (str(PROJECT / f"out/empi-out.{os.getpid()}"), None)):
        there = there or pathlib.Path(out)
        for words in (("--out", out), ("-o", out)):
            done = run("run", "empi", "simulate", str(trace), "--malleable", "100", *words)
            assert done.returncode == 0 and (there / "jobs.csv").stat().st_size > 0, done
            shutil.rmtree(there)
    taken = {"--out": "--out", "a place/of mine": f"{WORK}/a place/of mine", "--out=there": f"--out={WORK}/there",
             "--data": "--data", "measured": f"{WORK}/measured", "--topography=sea.asc": f"--topography={WORK}/sea.asc",
             "measured/": f"{WORK}/measured", "--folder": "--folder", "volume": f"{WORK}/volume", "--data=none": "--data=none",
             "--full": "--full", "tohoku": "tohoku", "--out=res.d": f"--out={WORK}/res.d", "spe10": "spe10", "--repeats": "--repeats", "3": "3"}
    for name in ("tohoku", "spe10", "measured", "sea.asc", "3"):
        (WORK / name).mkdir()
    script = f"""project=/nowhere; source {PROJECT}/scripts/inside.sh; take_arguments "$@"; printf '%s\\n' "${{arguments[@]}}" """
    done = in_bash(script, *taken)
    assert done.stdout.splitlines() == list(taken.values()), done


def the_top_of_the_machine():
    """A folder that is not there yet is made here, not inside; a file there is found, and nothing else can be written there."""
    top, file = pathlib.Path(f"/empi-top.{os.getpid()}"), pathlib.Path(f"/empi-file.{os.getpid()}")
    # / is the one of ./dev here, too.
    writable = [*PRIVATE, "sh", "-c", f"mount -o remount,bind,rw / && echo words >{file} && cd / && exec \"$@\"", "-"]
    done = run("run", "sh", "-c", f"cat {file} && echo written >{top}/results/of", "--out", f"{top}/results", before=writable)
    assert done.returncode != 0 and top.is_dir(), done  # the program makes its own folder
    runs(run("run", "sh", "-c", f"mkdir {top}/results && echo written >{top}/results/of && cat {file}", "--out", f"{top}/results",
             before=writable), "words\n")
    assert (top / "results/of").read_text() == "written\n"
    runs(run("run", "sh", "-c", f"cat {top.name}/results/of", "--out", top.name, before=writable), "written\n")
    runs(run("run", "sh", "-c", f"touch {top}-3/state", EMPI_STATE_DIR=f"{top}-3", before=writable))
    assert pathlib.Path(f"{top}-3/state").exists()
    refused(run("run", "true", "--out", "/", before=writable), "--out", "name a folder")
    refused(run("run", "true", "--out", f"{top}-2"), "--out", "cannot write /")
    done = run("run", "mkdir", f"{top}-2", before=writable)
    assert done.returncode == 1 and "Read-only" in done.stderr, done
    subprocess.run([*writable, "rm", "-r", top, f"{top}-3", file], check=True)


def names_of_the_machine():
    """A proxy, or a cluster, may have its name in /etc/hosts only."""
    hosts = WORK / "hosts"
    hosts.write_text("127.0.0.1 localhost\n203.0.113.7 proxy.of.ours\n")
    known = [*PRIVATE, "sh", "-ec", f"mount --bind {hosts} /etc/hosts; exec \"$@\"", "-"]
    done = run("shell", "getent hosts proxy.of.ours", before=known)
    assert done.returncode == 0 and done.stdout.split() == ["203.0.113.7", "proxy.of.ours"], done


def room_that_nobody_knows_of():
    """Some file systems do not say what is free: that is no full disk."""
    programs = programs_instead("silent-df", df="echo Avail; echo -\n")
    runs(run("run", "true", "--out", "results", PATH=programs))


def one_at_a_time_builds():
    """Two that build in one folder take turns, and each builds in whole."""
    script = f"""project={WORK}/checkout; mkdir $project; source {PROJECT}/scripts/inside.sh
        step() {{ echo begin; sleep 0.3; echo end; }}
        alone_in some step & alone_in some step & alone_in other true; wait; alone_in some false || echo $?"""
    done = in_bash(script)
    assert done.stdout == "begin\nend\n" * 2 + "1\n" and "waiting for another ./dev" in done.stderr, done


def what_is_built_for_a_command():
    """The programs of ours that its words, or a manifest among them, name; where they name none, what jobs run in."""
    project = WORK / "few-programs"
    (project / "build/release").mkdir(parents=True)
    ours = ["empi", "empi-one", "empi-two", "elastic-mpi-agent", "elastic-mpi-sidecar"]
    (project / "build/release/build.ninja").write_text("".join(f"build {name}: phony bin/{name}\n" for name in ours))
    (WORK / "two.yaml").write_text("command: [/opt/empi-two, --end, '3']\n")
    jobs = {"empi", "elastic-mpi-agent", "elastic-mpi-sidecar", "elastic_mpi"}
    for words, wanted in {("empi-one", "--help"): {"empi-one"}, ("empi", "run", "two.yaml"): jobs | {"empi-two"}, ("true",): jobs,
                          ("sh", "-c", "empi-one | empi-two"): {"empi-one", "empi-two"}}.items():
        script = f"project={project}; source {PROJECT}/scripts/inside.sh; targets_of run \"$@\""
        done = in_bash(script, *words)
        assert set(done.stdout.split()) == wanted, (words, done)


def what_is_built_for_an_image():
    folder = WORK / "image-of-mine"
    folder.mkdir()
    (folder / "Containerfile").write_text("FROM localhost/elastic-mpi-runtime:0.1.0\nCOPY mine /usr/local/bin/\n")
    runtime = {"--target", "elastic_mpi", "elastic-mpi-agent", "elastic-mpi-sidecar"}
    for names, wanted in {("jacobi",): runtime | {"empi-jacobi"}, (): set(), ("own", "jacobi"): set(), (str(folder),): runtime,
                          ("operator", "spe10"): runtime | {"elastic-mpi-operator", "empi", "empi-spe10", "empi-spe10-report"}}.items():
        script = f"""project={PROJECT}; source {PROJECT}/scripts/images.sh; choose_root() {{ :; }}; ensure_root() {{ :; }}
            enter_root() {{ printf '%s\n' "$@"; }}; build_programs "$@" """
        done = in_bash(script, *names)
        assert done.stderr.split()[:3] == [str(DEV), "build", "release"] and set(done.stderr.split()[3:]) == wanted, (names, done)


def inputs():
    """What a user names is found; what is not visible inside is refused."""
    # /run is a folder of this machine's own.
    hidden = pathlib.Path("/run") / f"empi-hidden.{os.getpid()}"
    hidden.write_text("job")
    refused(run("run", "empi", "run", str(hidden)), str(hidden), "not visible")
    refused(run("run", "true", "--data", "/var/lib/data"), "/var/lib/data", "not visible")
    refused(run("run", "true", EMPI_STATE_DIR=str(hidden)), str(hidden), "not visible")
    # What is to be made there would be in the root, and not found again.
    for name in ("EMPI_STATE_DIR", "XDG_STATE_HOME"):
        refused(run("run", "true", **{name: "/var/lib/empi-state"}), "/var/lib/empi-state", "not visible")
    # Whoever has set none of ours is asked, too.
    reach = f'project={PROJECT} cache=/cache root=/none; die() {{ echo "$*"; }}; source $project/scripts/reach.sh; choose_folders; check_paths'
    done = subprocess.run(["env", "-i", "XDG_STATE_HOME=/var/lib/empi-state", shutil.which("bash"), "-euc", reach], cwd=WORK,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert "/var/lib/empi-state is in a system folder" in done.stdout, done
    refused(run("run", "true", "--journal", "/usr/local/empi-journal"), "/usr/local/empi-journal", "not visible")
    refused(run("run", "true", "--state=/var/lib/empi-state"), "/var/lib/empi-state", "not visible")
    refused(run("run", "empi", "top", KUBECONFIG=f"/etc/hostname:{hidden}"), str(hidden), "not visible")
    hidden.unlink()
    runs(run("run", "sh", "-c", "/usr/sbin/none || echo no path but a script"), "no path but a script\n")
    # Of the root, though this machine has no such file; and of the cache.
    runs(run("run", "echo", "/usr/bin/mpirun", "/cache/lock", EMPI_BUSY_LOCK="/cache/lock"), "/usr/bin/mpirun /cache/lock\n")
    (WORK / "text").write_text("words")
    runs(run("shell", f"cat text {WORK}/text ~/text"), "words" * 3)
    runs(run("shell", "echo ~ $TMPDIR", TMPDIR="/var/tmp"), f"{WORK} /var/tmp\n")
    # What says which cluster is meant, where jobs have their state, and how MPI is to run.
    runs(run("shell", "echo $KUBECONFIG $XDG_STATE_HOME $OMPI_MCA_btl", KUBECONFIG="mine.yaml", XDG_STATE_HOME="/tmp/mine",
             OMPI_MCA_btl="self"), "mine.yaml /tmp/mine self\n")


def folders_among_the_system():
    """A working folder, a home and a TMPDIR in a system folder are bound one by one."""
    script = """set -e
        mount -t tmpfs some /usr/src && mkdir -p /usr/src/work /usr/src/home /usr/src/tmp
        cd /usr/src/work && HOME=/usr/src/home TMPDIR=/usr/src/tmp "$@"
        cat /usr/src/work/here /usr/src/home/there /usr/src/tmp/elsewhere"""
    runs(run("shell", "echo 1 >here; echo 2 >~/there; echo 3 >$TMPDIR/elsewhere", before=[*PRIVATE, "sh", "-c", script, "-"]),
         "1\n2\n3\n")
    refused(run("shell", "true", cwd="/usr/bin"), "/usr/bin", "working folder")


def shared_memory_is_private():
    mark = f"/dev/shm/empi-mark.{os.getpid()}"
    runs(run("shell", f"echo >{mark}"))
    assert not os.path.exists(mark), mark


def closed_input():
    result = subprocess.run(["sh", "-c", f"'{DEV}' shell 'echo words' <&-"], env=ENVIRONMENT, cwd=WORK, text=True,
                            capture_output=True, timeout=PATIENCE)
    runs(result, "words\n")


CASES = [outputs, results_are_where_they_were_asked_for, the_top_of_the_machine, names_of_the_machine,
         room_that_nobody_knows_of, one_at_a_time_builds, what_is_built_for_a_command, what_is_built_for_an_image,
         inputs, folders_among_the_system, shared_memory_is_private, closed_input]

if __name__ == "__main__":
    if "EMPI_INSIDE_ROOT" not in os.environ:
        print("skipped: not inside a root of ./dev, and making one takes a while")
        sys.exit(77)
    run_cases(CASES, WORK)

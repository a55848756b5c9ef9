#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev says in one line, with status 2, what is wrong with a machine or a request, before anything runs.

Usage: dev_refuses_test.py PROJECT [CASE...]
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from cases import run_cases
from dev_again import DEV, ENVIRONMENT, PATIENCE, PRIVATE, PROJECT, WORK, programs_instead, refused, run, runs


def command():
    refused(run("nonsense"), "nonsense", "./dev help")
    refused(run("run", "no-such-program", "--help"), "no-such-program", "no program of that name")
    refused(run("fuzz", "none"), "no fuzzer 'none'")
    refused(run("fuzz", "--seconds", "soon"), "--seconds wants a number")


def an_open_mpi_that_is_not_known():
    for words in ("--openmpi", "4.1.6"), ("--openmpi=5.0",), ("--openmpi",):
        refused(run("test", *words), "5.0.11")


def a_kubernetes_that_is_not_known():
    for words in ("--kubernetes", "1.21"), ("cluster-smoke", "--kubernetes", "1.37.1"), ("up", "--kubernetes"):
        refused(run("e2e", *words), "1.34, 1.36, 1.37")
    refused(run("e2e", "status", EMPI_KUBERNETES="latest"), "'latest'", "1.34, 1.36, 1.37")


def a_commit_that_is_none():
    for words in ("--from",), ("upgrade-from", "--from", "a b"), ("--from", "--all", "upgrade-from"):
        refused(run("e2e", *words), "--from wants a commit")


def a_program_is_missing():
    for program, package in {"unshare": "util-linux", "flock": "util-linux", "mount": "mount", "cmp": "diffutils"}.items():
        programs = programs_instead(f"without-{program}", without=[program])
        # /usr/sbin, which ./dev adds, has none of them.
        refused(run("shell", "true", PATH=programs), program, f"install the package {package}")


def a_program_is_too_old():
    old = programs_instead("old-unshare", unshare='[ "$1" != --help ] || { echo "--map-root-user"; exit 0; }\nexec /usr/bin/unshare "$@"\n')
    refused(run("shell", "true", PATH=old), "--map-auto", "util-linux 2.38")
    old = programs_instead("old-env", env='[ "$1" != --default-signal ] || exit 125\nexec /usr/bin/env "$@"\n')
    refused(run("shell", "true", PATH=old), "--default-signal", "coreutils 8.31")


def a_file_system_has_no_locks():
    programs = programs_instead("no-locks", flock='echo "flock: 9: No locks available" >&2; exit 71\n')
    refused(run("shell", "true", PATH=programs, EMPI_CACHE=str(WORK / "cache-without-locks")), "cache-without-locks", "no locks (flock)", "EMPI_CACHE")


def nobody_can_make_a_root():
    """Neither mmdebstrap nor apt nor an engine."""
    programs = programs_instead("without-apt", without=["mmdebstrap", "apt-get", "podman", "docker"])
    result = run("shell", "true", PATH=programs, EMPI_CACHE=str(WORK / "cache-without-apt"))
    assert result.returncode == 2 and "install one of them" in result.stderr.splitlines()[-1], result


def packages_cannot_be_kept():
    refused(run("shell", "true", EMPI_CACHE=str(WORK / "cache-without-packages"), EMPI_PACKAGES="/proc/packages"),
            "EMPI_PACKAGES", "/proc/packages")


def options_of_commands_on_the_host():
    for words, said in {("first-hour", "--debian", "11"): "--debian wants 12 or 13", ("first-hour", "--until"): "root, build, picture or end",
                        ("first-hour", "--twice"): "'--twice'", ("first-hour", "--user", "--keep-ccache"): "leave out",
                        ("first-hour", "--keep-root"): "--keep-root is for --until build"}.items():
        refused(run("bench", *words), said)
    refused(run("images", "jacobi", EMPI_IMAGE_ENGINE="lxc"), "EMPI_IMAGE_ENGINE", "docker, podman or buildah")
    refused(run("images", "jacobi", EMPI_IMAGE_ENGINE="podman"), "EMPI_IMAGE_ENGINE", "no podman")
    refused(run("images", "--snapshot", "today"), "--snapshot wants a date")
    for words, said in {("--ip", "5"): "--ip wants 4 or 6", ("--cni", "none"): "ptp or calico", ("up", "--nodes", "none"): "from 1 to 100",
                        ("up", "--nodes", "0"): "from 1 to 100", ("node", "cut"): "e2e: node wants", ("nosuch",): "no command or case"}.items():
        refused(run("e2e", *words), said)
    refused(run("e2e", "status", EMPI_CLUSTER="Mine"), "EMPI_CLUSTER", "a-z")


def no_network():
    cache = WORK / "cache-without-network"
    result = run("shell", "true", before=["unshare", "--net", "--"], EMPI_CACHE=str(cache))
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 2 and "check the network" in last and str(cache / "root.log") in last, result
    assert not list(cache.glob("root-*")), "half a root is left"
    for root in pathlib.Path("/cache").glob("root-*"):  # as if it had been made now
        (cache / root.name).symlink_to(root)
    runs(run("shell", "echo again", EMPI_CACHE=str(cache)), "again\n")


def an_image_without_network():
    """Neither its minimal Debian nor the packages of a layer can be fetched. What else apt or a user's own recipe has not got
    is shown."""
    folder = WORK / "offline"
    (folder / "runtime").mkdir(parents=True)  # what the image's recipe copies
    (folder / "Containerfile").write_text("FROM scratch\n")

    def run_script(script, *words, **tools):
        path = programs_instead(f"offline-tools-{len(list(WORK.iterdir()))}", **tools)
        environment = ENVIRONMENT | {"PATH": path, "EMPI_SNAPSHOT": "20260101T000000Z", "EMPI_SNAPSHOTS": f"file://{WORK}",
                                     "EMPI_IMAGE_BASE": "debian:trixie-slim"}
        return subprocess.run(["bash", PROJECT / "containers" / script, *words], env=environment, capture_output=True, text=True,
                              timeout=PATIENCE)

    fetch = "E: Failed to fetch http://deb.debian.org/debian/some.deb  "
    for why, status, said in ("Temporary failure resolving", 2, "check the network"), ("503  Service Unavailable", 2, "the proxy"), \
            ("404  Not Found", 1, "see above"), ("Error writing to file - write (28: No space left on device)", 1, "see above"):
        fails = f"echo '{fetch}{why}' >&2; exit 25\n"
        of_base = run_script("context.sh", folder, folder / "context", mmdebstrap=fails)
        of_layer = run_script("build.sh", "docker", folder, folder, "0.1.0", "runtime", docker=fails)
        of_user = run_script("build.sh", "docker", folder, folder, "0.1.0", str(folder),
                             docker=f"case \"$*\" in *localhost/offline:*) {fails.strip()} ;; esac; exit 0\n")
        for done, expected in ((of_base, status), (of_layer, status), (of_user, 1)):
            lines = done.stderr.splitlines()
            assert done.returncode == expected and (said if expected == 2 else "see above") in lines[-1], (why, done)
            assert (expected == 2) != any(why in line for line in lines), (why, done)
    assert not (folder / "context").exists()


def the_keys_are_not_those_of_debian():
    """The key of an older Debian, say: its packages are fetched, and refused."""
    said = "W: Failed to fetch http://deb.debian.org/debian/dists/trixie/InRelease  The following signatures couldn't be verified " \
        "because the public key is not available: NO_PUBKEY 6ED0E7B82643E131"
    programs = programs_instead("old-keys", mmdebstrap=f'[ "$1" != --version ] || exit 0\ncat <<"END"\n{said}\nEND\nexit 25\n')
    last_of(run("shell", "true", PATH=programs, EMPI_CACHE=f"{WORK}/cache-old-keys"), "debian-archive-keyring", "root.log")


def last_of(result, *said):
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 2 and all(word in last for word in said), (said, result)


def on_another_distribution(name, **programs):
    """With apt and perl, and not Debian's keys: ./dev shell true there, and the cache it has."""
    cache = WORK / f"cache-{name}"
    script = "for folder in /usr/share/keyrings /etc/apt/trusted.gpg.d; do mount -t tmpfs none $folder; done; exec \"$@\""
    return cache, {"before": [*PRIVATE, "sh", "-ec", script, "-"], "PATH": programs_instead(name, **programs),
                   "EMPI_CACHE": str(cache)}


def an_engine(log, start="exit 0", create="echo 7e57"):
    """A docker that writes down what it is asked."""
    return f'echo "$@" >>{log}\ncase $1 in\ncreate) {create} ;;\nstart) {start} ;;\nexport) tar -c -C / etc/passwd ;;\nesac\n'


def another_distribution_without_an_engine():
    cache, there = on_another_distribution("ubuntu", mmdebstrap="exit 0\n")
    last_of(run("shell", "true", **there), "debian-archive-keyring, podman or docker")
    assert not list(cache.glob("root-*")), "half a root is left"


def another_distribution_with_an_engine():
    """It makes the root, though there is an mmdebstrap. No short name: an engine may know no registry to look in."""
    log = WORK / "docker.log"
    cache, there = on_another_distribution("ubuntu-docker", docker=an_engine(log), mmdebstrap="exit 1\n")
    run("shell", "true", **there)
    asked = [line.split() for line in log.read_text().splitlines()]
    assert [words[0] for words in asked] == ["info", "create", "start", "export", "rm"], asked
    assert "docker.io/library/debian:trixie" in asked[1] and asked[-1][-1] == "7e57", asked
    handed_on = {asked[1][k + 1] for k, word in enumerate(asked[1]) if word == "--env"}
    assert handed_on == {"http_proxy", "https_proxy", "no_proxy"}, asked[1]
    root, = cache.glob("root-*")
    assert (root / ".complete").exists() and (root / "etc/passwd").exists(), list(root.iterdir())


def an_engine_that_does_not_answer():
    for name, said, words in (
            ("stopped", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", ["systemctl start docker"]),
            ("forbidden", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
             ["--groups docker", "as root"]),
            ("broken", "context 'old' is not known", ["docker is installed, but does not answer: context 'old' is not known"])):
        _, there = on_another_distribution(name, docker=f'echo "{said}" >&2; exit 1\n')
        last_of(run("shell", "true", **there), *words)


def an_engine_that_fails_leaves_no_container():
    log = WORK / "failing.log"
    no_host = 'echo "Error response from daemon: Get https://registry-1.docker.io/v2/: dial tcp: lookup registry-1.docker.io: no such host" >&2; exit 1'
    _, there = on_another_distribution("no-registry", docker=an_engine(log, create=no_host))
    last_of(run("shell", "true", **there), "check the network")
    assert log.read_text().splitlines()[-1].startswith("create "), "there is no container to be removed"
    failing = 'echo "E: Unable to locate package nonsense"; exit 100'
    _, there = on_another_distribution("no-package", docker=an_engine(log, start=failing))
    last_of(run("shell", "true", **there), "E: Unable to locate package nonsense")
    assert log.read_text().splitlines()[-1] == "rm --force 7e57", log.read_text()
    log.unlink()
    _, there = on_another_distribution("ended", docker=an_engine(log, start="sleep 600"))
    before = there.pop("before")
    running = subprocess.Popen([*before, DEV, "shell", "true"], env=ENVIRONMENT | there, cwd=WORK, process_group=0, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_word(log, "start")
    os.killpg(running.pid, signal.SIGTERM)
    running.wait(PATIENCE)
    wait_for_word(log, "rm --force 7e57")


def wait_for_word(log, word):
    end = time.monotonic() + PATIENCE
    while not (log.exists() and any(line.startswith(word) for line in log.read_text().splitlines())):
        assert time.monotonic() < end, f"'{word}' was not asked"
        time.sleep(0.05)


def names_of_packages():
    refused(run("shell", "true", EMPI_WITH="gdb; rm"), "EMPI_WITH", "lammps gdb")


def the_disk_fills_while_a_root_is_made():
    """There is room when it is begun, and none soon after."""
    (WORK / "filling").mkdir()
    cache = f"{WORK}/filling/cache"
    programs = programs_instead("filling-programs", df="echo Avail; echo 9000000000\n",
                                mmdebstrap=f'[ "$1" != --version ] || exit 0\nexec dd if=/dev/zero of={cache}/some.deb bs=1M\n')
    mount = f"mount -t tmpfs -o size=20m filling {WORK}/filling; PATH={programs}; exec \"$@\""
    result = run("shell", "true", before=[*PRIVATE, "sh", "-c", mount, "-"], EMPI_CACHE=cache)
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 2 and "no space is left" in last and "EMPI_CACHE" in last, result


def mounting_is_forbidden():
    refused(run("shell", "true", before=["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]),
            "docker run --privileged", "--cap-add SYS_ADMIN")


def as_a_stranger():
    """An ordinary user with neither newuidmap nor ids of its own."""
    stranger = ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "--"]
    refused(run("shell", "true", before=stranger, cwd="/"), "newuidmap", "package uidmap")
    programs = WORK / "uidmap"
    programs.mkdir()
    for name in ("newuidmap", "newgidmap"):
        (programs / name).symlink_to("/usr/bin/true")
    os.chmod(WORK, 0o755)
    refused(run("shell", "true", before=stranger, cwd="/", PATH=f"{programs}:/usr/bin"), "1234", "/etc/subuid", "usermod")
    def with_files(subgid, before=""):  # an /etc of our own
        etc = WORK / f"etc-{len(list(WORK.iterdir()))}"
        subprocess.run(["cp", "-a", "/etc", etc], check=True)
        (etc / "subuid").write_text("1234:100000:65536\n")
        (etc / "subgid").write_text(subgid)
        return [*PRIVATE, "sh", "-c", f"set -e; mount --bind {etc} /etc; {before}exec \"$@\"", "-", *stranger]

    refused(run("shell", "true", before=with_files(""), cwd="/", PATH=f"{programs}:/usr/bin"), "1234", "/etc/subgid", "usermod")
    # A kernel that lets no ordinary user have namespaces: unshare fails, and the switch that is off is named.
    (programs / "unshare").write_text('#!/bin/sh\n[ "$1" != --help ] || exec /usr/bin/unshare --help\nexit 1\n')
    (programs / "unshare").chmod(0o755)
    off = WORK / "off"
    off.write_text("0\n")
    switch = "/proc/sys/user/max_user_namespaces"
    refused(run("shell", "true", before=with_files("1234:100000:65536\n", f"mount --bind {off} {switch}; "), cwd="/",
                PATH=f"{programs}:/usr/bin"), f"{switch} is 0", "sysctl")
    # Those of Debian's older and of Ubuntu's kernels.
    for switch, value in (("unprivileged_userns_clone", 0), ("apparmor_restrict_unprivileged_userns", 1)):
        there = f"mount -t tmpfs none /proc/sys/kernel; echo {value} >/proc/sys/kernel/{switch}; "
        refused(run("shell", "true", before=with_files("1234:100000:65536\n", there), cwd="/", PATH=f"{programs}:/usr/bin"),
                f"/proc/sys/kernel/{switch} is {value}", "sysctl")


def no_home():
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in ("HOME", "EMPI_CACHE", "XDG_CACHE_HOME")}
    refused(subprocess.run([DEV, "shell", "true"], env=environment, capture_output=True, text=True, timeout=PATIENCE),
            "HOME", "EMPI_CACHE")


def the_cache_cannot_be_written():
    refused(run("shell", "true", EMPI_CACHE="/proc/cache"), "/proc/cache", "EMPI_CACHE")


def the_cache_is_full():
    mount = f"mount -t tmpfs -o size=20m full {WORK}/full; exec \"$@\""
    (WORK / "full").mkdir(exist_ok=True)
    refused(run("shell", "true", before=[*PRIVATE, "sh", "-c", mount, "-"], EMPI_CACHE=f"{WORK}/full/cache"),
            "MB", f"{WORK}/full/cache", "./dev clean", "EMPI_CACHE")


def the_build_cannot_be_written():
    """A checkout that is read-only, and one on a full disk; neither is built."""
    folder = WORK / "readonly-build"
    folder.mkdir()
    for options, said in (("size=1m,ro", "cannot write"), ("size=1m", "no space is left")):
        mount = f"mount -t tmpfs -o {options} build {folder}; ln -s . {folder}/none 2>/dev/null; exec \"$@\""
        copy = WORK / ("checkout-" + said.replace(" ", "-"))
        copy.mkdir()
        for name in ("dev", "scripts", ".ci", "CMakePresets.json"):
            (shutil.copytree if (PROJECT / name).is_dir() else shutil.copy2)(PROJECT / name, copy / name)
        (copy / "build").symlink_to(folder)
        result = subprocess.run([*PRIVATE, "sh", "-c", mount, "-", copy / "dev", "run", "empi", "--help"], cwd=WORK, text=True,
                                env=ENVIRONMENT, capture_output=True, timeout=PATIENCE)
        refused(result, said, "build/release")


def the_preset_is_unknown():
    refused(run("build", "fast"), "fast", "./dev help")


def the_disk_fills_while_it_is_built():
    """What compilers say of that is no line, and their status is not 2."""
    (WORK / "small").mkdir()
    script = f"""mount -t tmpfs -o size=5m small {WORK}/small; project={WORK}/small; source {PROJECT}/scripts/inside.sh
        configure() {{ mkdir -p $project/build/$1; }}; cmake() {{ echo 'No space left on device'; return 1; }}
        build release"""
    done = subprocess.run([*PRIVATE, "bash", "-uc", script], capture_output=True, text=True, timeout=PATIENCE)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and "no space is left" in last and f"{WORK}/small/build/release" in last, done
    script = f"""project={WORK}/broken; source {PROJECT}/scripts/inside.sh
        configure() {{ mkdir -p $project/build/$1; }}; cmake() {{ return 3; }}; build release"""
    done = subprocess.run(["bash", "-uc", script], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3 and "space" not in done.stderr, done


def words_before_there_is_a_root():
    """Neither is made for words that are refused."""
    nothing = {"EMPI_CACHE": str(WORK / "no-cache")}
    refused(run("demo", "--ful", **nothing), "--ful")
    refused(run("bench", "nosuch", **nothing), "nosuch", "./dev bench list")
    refused(run("build", "fast", **nothing), "fast", "./dev help")
    refused(run("run", **nothing), "wants a command")
    for words in (("demo", "--help"), ("bench", "list"), ("bench", "--help"), ("fuzz", "list"), ("fuzz", "--help"), ("lint", "--help"),
                  ("build", "--help")):
        done = run(*words, **nothing)
        assert done.returncode == 0 and done.stdout and not done.stderr, (words, done)
    assert not (WORK / "no-cache").exists()


def outputs_before_there_is_a_root():
    """Nobody waits for a root to be made to hear that its results can go nowhere."""
    cache = WORK / "cache-without-root"
    for words in ("demo", "--out", "/etc/out"), ("run", "true", "--out=/usr/local/out"), ("bench", "chaos", "--out", "/run/out"):
        refused(run(*words, before=["unshare", "--net", "--"], EMPI_CACHE=str(cache)), "--out", "system folder")
    assert not cache.exists(), "a root was begun"


CASES = [command, an_open_mpi_that_is_not_known, a_kubernetes_that_is_not_known, a_commit_that_is_none,
         a_program_is_missing, a_program_is_too_old, packages_cannot_be_kept, options_of_commands_on_the_host,
         a_file_system_has_no_locks, nobody_can_make_a_root, no_network, an_image_without_network,
         the_keys_are_not_those_of_debian, another_distribution_without_an_engine,
         another_distribution_with_an_engine, an_engine_that_does_not_answer, an_engine_that_fails_leaves_no_container,
         names_of_packages, the_disk_fills_while_a_root_is_made, mounting_is_forbidden, as_a_stranger, no_home,
         the_cache_cannot_be_written, the_cache_is_full, the_build_cannot_be_written, the_preset_is_unknown,
         the_disk_fills_while_it_is_built, words_before_there_is_a_root, outputs_before_there_is_a_root]

if __name__ == "__main__":
    if "EMPI_INSIDE_ROOT" not in os.environ:
        print("skipped: not inside a root of ./dev, and making one takes a while")
        sys.exit(77)
    run_cases(CASES, WORK)

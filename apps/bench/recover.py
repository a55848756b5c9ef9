#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench recover: bench_recover, and how long it takes until the job knows of a pod that has ended, beside a controller.

A pod that ends is seen by whoever holds it, here `empi run`, in a cluster the kubelet; the controller tells the lead of
the members. Figure: recover.detect.pod, the median over some losses from the kill of the pod's first process until the
status counts its loss.

Usage: recover.py [MEGABYTES a rank (128)]
"""
# targets: jobs bench_recover empi-jacobi
import os
import signal
import statistics
import subprocess
import sys
import time

from chaos import APPS, Hang, Job, Processes
from elastic import Bench, folder_of, note

PODS, LOSSES = 6, 4
PATIENCE = 30  # s until a loss is known


def known_after(job, loss):
    """Seconds until the status counts one more loss, of a pod that does not lead."""
    before = job.status()
    pods = Processes(job.uid(), job.app.program).pods
    name = max(pod for pod in pods if pod != before.get("leadPod"))
    begin = time.monotonic()
    os.kill(pods[name]["holder"], signal.SIGKILL)
    while job.status().get("recoveries", {}).get("count", 0) < loss:
        if job.over() or time.monotonic() - begin > PATIENCE:
            raise Hang(f"the loss of {name} is not known within {PATIENCE} s: {job.status().get('conditions')}")
        time.sleep(.002)
    seconds = time.monotonic() - begin
    note(f"{name} has ended: known after {seconds:.3f} s")
    job.wait("it goes on, with a pod in its place", lambda: job.steady((before["restarts"], before["epoch"])))
    return seconds


def main():
    code = subprocess.run(["bench_recover", *sys.argv[1:]]).returncode
    if code != 0:
        return code
    with folder_of(None, "recover") as out:
        # Until it is ended: far more iterations than there is time for.
        job = Job("recover-pod", APPS["jacobi"], out, ranks=1, largest=PODS, start=PODS, share=200)
        try:
            job.wait("it runs", job.steady)
            job.wait("it iterates", lambda: job.iterations() > 0)
            Bench("recover", out).figure("detect.pod", statistics.median(known_after(job, loss + 1) for loss in range(LOSSES)), "s")
        finally:
            job.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())

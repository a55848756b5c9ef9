#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `empi dashboard` as a browser shows it. Usage: browser_test.py EMPI CHROMIUM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

empi, chromium = sys.argv[1], sys.argv[2]
if not chromium:
    print("skipped: chromium is not in this root (Debian's package chromium)")
    sys.exit(77)

SPEC = """apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: tsunami}
spec:
  worker:
    minReplicas: 1
    maxReplicas: 8
    template: {spec: {containers: [{name: worker, image: i, command: [p]}]}}
"""
MARKUP = "<img src=x onerror=document.title='taken'>"
STATUS = {
    "state": "Succeeded",
    "joinedReplicas": 4,
    "desiredReplicas": 4,
    "startTime": "2026-01-31T12:00:00Z",
    "completionTime": "2026-01-31T12:04:00Z",
    "decisions": [{"time": "2026-01-31T12:01:00Z", "from": 2, "to": 4, "policy": "Efficiency", "action": "Scale",
                   "reason": MARKUP}],
}

with tempfile.TemporaryDirectory() as folder:
    job = pathlib.Path(folder) / "state" / "tsunami"
    job.mkdir(parents=True)
    (job / "spec.yaml").write_text(SPEC)
    (job / "status.json").write_text(json.dumps(STATUS))
    environment = dict(os.environ, EMPI_STATE_DIR=str(job.parent), HOME=folder)
    server = subprocess.Popen([empi, "dashboard", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        browser = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
             f"--user-data-dir={folder}/profile", "--dump-dom", address],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=90, check=True)
    finally:
        server.kill()
        server.wait()
    shown = browser.stdout

for expected in ['data-job="tsunami"', "Succeeded", "4 workers", "<svg", 'class="area"', "2 → 4",
                 "&lt;img src=x onerror"]:
    assert expected in shown, f"the page does not show {expected!r}:\n{shown}"
assert "not refreshed" not in shown, shown
assert "<title>Elastic MPI</title>" in shown, "what a job says became markup"
print("ok")

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# agents refuse who has no token, a wrong one, or another job's, and malformed commands; the job goes on
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
job mine 0
job other 0 '.spec.worker.replicas = 1'
runs mine 2
runs other 1
lead=$(pods mine | head -n 1)
token_of() { k get secret "$1-token" -o jsonpath='{.data.token}' | base64 -d | head -n 1; }
stop='{"fence": 1000000, "reason": "wrong"}'
for token in '' wrong "$(token_of other)"; do
  expect "a stop with token '${token:0:8}' is refused" answers 401 token "$lead" "$token" POST /v1/stop "$stop"
  expect 'so is a question' answers 401 token "$lead" "$token" GET /v1/membership
done
expect 'the right one is taken' answers 200 epoch "$lead" "$(token_of mine)" GET /v1/membership
expect 'a command that cannot be read is refused' answers 400 malformed "$lead" job PUT /v1/change '{"id": 7'
expect 'one from an older leader, too' answers 409 fence "$lead" job POST /v1/stop '{"fence": 0, "reason": "old"}'
expect 'probes need no token' answers 200 ok "$lead" '' GET /v1/healthz
expect 'the token is not in the environment' test -z "$(k exec "$lead" -c worker -- env | grep -F "$(token_of mine)")"
iterates mine
expect 'nothing has changed' job_is mine '.status.epoch == 1 and .status.state == "Running" and .status.restarts == 0'

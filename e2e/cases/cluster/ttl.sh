#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ended jobs keep the pods that cleanPodPolicy names and go with all they own after their time to live
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
policy() { job "$1" 60 ".spec.runPolicy = $2"; }
policy keep-finished '{cleanPodPolicy: "Running"}'
policy keep-none '{cleanPodPolicy: "All"}'
policy keep-all '{cleanPodPolicy: "None"}'
policy short-lived '{ttlSecondsAfterFinished: 3}'
for name in keep-finished keep-none keep-all; do ends $name Succeeded; done
within 30 'a job that has ended is deleted after its time' gone emj/short-lived
within 30 'with its pods' pods_are short-lived 'length == 0'
for kind in service/short-lived-workers secret/short-lived-token networkpolicy/short-lived-workers; do
  within 30 "and its $kind" gone $kind
done
within 30 'All leaves no pod' pods_are keep-none 'length == 0'
finished='length == 2 and all(.[]; .status.phase == "Succeeded")'
within 20 'Running leaves those that have ended, for their logs' pods_are keep-finished "$finished"
within 20 'None leaves all' pods_are keep-all "$finished"
expect 'the log tells the result' test -n "$(fingerprint keep-finished)"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a suspended job releases its pods; its template may then change; it starts again from the beginning
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
job pause 0
job born-suspended 60 '.spec.suspend = true'
runs pause 2
expect 'the template of a running job cannot change' refuses 'set spec.suspend' pause '{"spec":{"worker":{"template":{"spec":{"containers":[{"name":"worker","image":"other","command":["x"]}]}}}}}'
k patch emj pause --type=merge -p '{"spec":{"suspend":true}}' >/dev/null
within 20 'it is suspended' condition pause Suspended
within 30 'its pods are gone' pods_are pause 'length == 0'
manifest pause 60 '.spec.suspend = true | .spec.worker.replicas = 3' | k apply -f - >/dev/null
k patch emj pause --type=merge -p '{"spec":{"suspend":false}}' >/dev/null
ends pause Succeeded
expect 'the second run had the new size' job_is pause '.status.nextIndex == 5'
expect 'its answer is that of the new template' test -n "$(fingerprint pause)"
expect 'a job that is born suspended has no pods' pods_are born-suspended 'length == 0'
expect 'and says so' condition born-suspended Suspended
k patch emj born-suspended --type=merge -p '{"spec":{"suspend":false}}' >/dev/null
ends born-suspended Succeeded

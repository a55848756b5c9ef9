#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# a job never touches a Secret, Service or NetworkPolicy of its children's names that somebody else has made
# images: operator runtime jacobi
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/operator.sh"
begin_case
expected_log='exists already and is not of this job'

k create secret generic db-token --from-literal=token=precious >/dev/null
k create service clusterip shop-workers --tcp=80 >/dev/null
as_it_is() { k get secret/db-token service/shop-workers -o json | jq -cS '[.items[] | {data, spec, metadata: (.metadata | {uid, ownerReferences})}]'; }
before=$(as_it_is)
untouched() { [[ $(as_it_is) == "$before" ]]; }

job db 60
job shop 60
within 20 'the job named db says why it waits' condition db PodCreationBlocked 'db-token exists already and is not of this job'
within 20 'so does the one named shop' condition shop PodCreationBlocked 'shop-workers exists already and is not of this job'
expect 'no pod was made' pods_are db 'length == 0'
expect 'the objects are as they were' untouched
k delete emj db --wait=true >/dev/null
job beside 60
ends beside Succeeded 60
expect 'and stay when the job is deleted' untouched
k delete service shop-workers >/dev/null
ends shop Succeeded 90
expect 'the Secret is still there' test "$(k get secret db-token -o jsonpath='{.data.token}' | base64 -d)" = precious

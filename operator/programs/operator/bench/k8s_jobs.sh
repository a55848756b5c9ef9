#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What ./dev bench k8s-resize, k8s-launch and k8s-shrink-to-start do on their cluster, inside its control plane: installs
# the operator by its chart and times jobs.
# Usage: k8s_jobs.sh resize|launch|shrink-to-start FOLDER-OF-PROGRAMS LOG-FOLDER [OPTIONS of bench_k8s_jobs]
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/operator.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../../../e2e/cases/cluster/lib/operator.sh"
what=$1 programs=$2 logs=$3
shift 3

namespace=bench-$what
make_namespace
helm_upgrade
if [[ $what == shrink-to-start ]]; then # room for eight workers of 10m, each with a sidecar of 10m
  kubectl apply -f - >/dev/null <<END
apiVersion: elasticmpi.io/v1alpha1
kind: ElasticQueue
metadata: {name: $namespace}
spec:
  namespaces: [$namespace]
  pools: [{name: share, quota: {cpu: 160m}}]
  growth: {cooldownSeconds: 1}
END
fi
verdict=0
"$programs/bench_k8s_jobs" "$what" --namespace "$namespace" --image "$(image jacobi)" "$@" || verdict=$?
kubectl --namespace "$system" logs deployment/elastic-mpi-operator >"$logs/operator.log" 2>&1 || true
say "k8s-$what: load of the machine at the end: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores"
exit "$verdict"

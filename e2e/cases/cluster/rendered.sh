#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# helm/install.yaml is what the chart renders today; the API server takes it, and the chart with every option on
# alone: it applies what others have installed
set -euo pipefail
# shellcheck source=e2e/cases/cluster/lib/case.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/case.sh"
root=$(cd "$cluster_source/../.." && pwd)
make_namespace

render() { bash "$cluster_source/manifest.sh" "$@" 2>/dev/null; }
dry_run() { sed "s/namespace: elastic-mpi$/namespace: $namespace/" | kubectl apply --server-side --force-conflicts --dry-run=server -f - >/dev/null; }
rendered() { render | diff -u "$root/helm/install.yaml" - >&2; }
taken() { dry_run <"$root/helm/install.yaml"; }
# The Prometheus operator's kinds are not here.
taken_with_options() {
  render --set dashboard=true,replicas=1,watchNamespace=elastic-mpi | dry_run
}

expect 'helm/install.yaml is up to date (else: ./dev e2e manifest >helm/install.yaml)' rendered
expect 'the API server takes it' taken
taken_with_queues() { render --set queues.enabled=true "$@" | dry_run; }
expect 'the API server takes the chart with queues' taken_with_queues
expect 'with queues of one namespace as well' taken_with_queues --set watchNamespace=elastic-mpi
expect 'the API server takes the chart for one namespace, with the dashboard' taken_with_options
expect 'the dashboard is JSON' jq -e '.panels | length > 5' "$root/helm/elastic-mpi/dashboards/elastic-mpi.json"
expect 'helm lint is content' helm lint --strict "$root/helm/elastic-mpi"

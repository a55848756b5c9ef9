#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The chart as one file for kubectl apply, as helm/install.yaml keeps it.
# Usage: manifest.sh [helm template's arguments]
# The root key is not part of it: the operator makes it when it first starts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cat <<'HEADER'
# Made by `./dev e2e manifest`; do not edit. Its images are those that `./dev images` makes, loaded into each node;
# of a registry: ./dev e2e manifest --set image.registry=registry.example/hpc >install.yaml
#   kubectl create namespace elastic-mpi
#   kubectl apply --server-side -f install.yaml
---
HEADER
helm template elastic-mpi helm/elastic-mpi --namespace elastic-mpi --kube-version 1.34.0 \
  --set rootKey.name=elastic-mpi-root-key,image.registry=localhost "$@"

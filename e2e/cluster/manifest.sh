#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The chart as one file for kubectl apply, as helm/install.yaml keeps it.
# Usage: manifest.sh [helm template's arguments]
# The root key is not part of it: everybody who reads the file would know it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cat <<'HEADER'
# Made by `./dev e2e manifest`; do not edit. It wants the key that job tokens are made of:
#   kubectl create namespace elastic-mpi
#   kubectl -n elastic-mpi create secret generic elastic-mpi-root-key --from-literal=key="$(openssl rand -hex 32)"
#   kubectl apply --server-side -f install.yaml
---
HEADER
helm template elastic-mpi helm/elastic-mpi --namespace elastic-mpi --kube-version 1.34.0 \
  --set rootKey.existingSecret=elastic-mpi-root-key "$@"

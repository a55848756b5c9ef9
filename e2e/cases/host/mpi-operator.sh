#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the examples of the mpi-operator are imported or refused with the reason, and its pi, rebuilt, runs as imported
# full: a root with Go is made for it, which fetches their module
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
EMPI_WITH='golang-go unzip' ./dev run bash e2e/mpi_operator/examples.sh

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# on a cluster that has addresses of IPv6 and no others the operator is installed, and a job runs, grows and shrinks
# full: a cluster is started for it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
EMPI_CLUSTER=six$$ EMPI_CLUSTERS=1 EMPI_CASE_CLAIMS='' ./dev e2e --ip 6 cluster-smoke install scale mutual-tls

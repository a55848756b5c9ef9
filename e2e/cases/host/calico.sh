#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# where Calico wires pods the cluster is what it is otherwise, and packets are held to the NetworkPolicy of a job
# full: a cluster is started for it, and Calico is built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
EMPI_CLUSTER=calico$$ EMPI_CLUSTERS=1 EMPI_CASE_CLAIMS='' ./dev e2e --cni calico cluster-smoke network-policy

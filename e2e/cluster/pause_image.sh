#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the image of the process that holds a pod's namespaces: Debian's catatonit, which is one static program.
# Usage: pause_image.sh CLUSTER
set -euo pipefail
# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
use_cluster "$1"
# shellcheck source=e2e/cluster/archive.sh
source "$cluster_source/archive.sh"
static_image "$state/pause.tar" localhost/pause:1 '["/catatonit", "-P"]' /usr/bin/catatonit

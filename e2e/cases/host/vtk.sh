#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# VTK's own reader, which is ParaView's, finds in snapshots of tsunami and reservoir what their guides say
# full: a root with its packages is made for it (five minutes, 200 MB more)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
EMPI_WITH=python3-vtk9 ./dev run apps/testing/snapshots_in_vtk.py

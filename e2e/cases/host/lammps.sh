#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LAMMPS, as Debian has it, runs on two, four and one workers in mode Restartable; its energy is conserved
# full: a root with its packages is made for it (700 MB)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
EMPI_WITH=lammps ./dev run python3 apps/lammps/check_melt.py

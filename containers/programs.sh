# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What images are made of, in bin of a build folder. Sourced by context.sh, which lays it out, and by
# scripts/e2e_cases.sh, which makes an image anew when one of these is newer.

in_volume=(elastic-mpi-agent elastic-mpi-sidecar)
of_operator=(elastic-mpi-operator empi)
applications=(empi-jacobi empi-mandelbrot empi-spe10 empi-spe10-report empi-surrogate empi-surrogate-report empi-tsunami
  empi-tsunami-report)

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lays out in DIR what images are built from: the minimal Debian, and the programs of BUILD without their debug
# information. Runs inside the root of .ci/packages-e2e.txt.
# Usage: context.sh BUILD DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=containers/programs.sh
source "$here/programs.sh"
# shellcheck source=scripts/why_no_packages.sh
source "$here/../scripts/why_no_packages.sh"
build=$1 context=$2
say() { printf 'images: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

not_made() {
  rm -f "$new"
  if [[ $(why_no_packages "$log") == network ]]; then say "$no_network"; exit 2; fi
  cat "$log" >&2
  fail 'making a minimal Debian failed: see above'
}

# One minimal Debian for all checkouts; another recipe, or another month, makes another.
sources=() when=$(date +%Y-%m)
if [[ -n ${EMPI_SNAPSHOT:-} ]]; then
  when=$EMPI_SNAPSHOT
  for source in debian:trixie debian:trixie-updates debian-security:trixie-security; do # their indices have long expired
    sources+=("deb [check-valid-until=no] ${EMPI_SNAPSHOTS:-http://snapshot.debian.org/archive}/${source%:*}/$when ${source#*:} main")
  done
fi
recipe=(--variant=apt --aptopt='Apt::Install-Recommends "false"'
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*'
  --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-exclude=/usr/share/locale/*')
base=/cache/images/base-$(printf '%s\n' "${recipe[@]}" "${sources[@]}" "$when" | sha256sum | cut -c1-12).tar
if [[ ! -e $base ]]; then
  say 'making a minimal Debian 13 (once a month, half a minute)'
  mkdir -p /cache/images
  new=${base%.tar}.new.tar log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  # shellcheck disable=SC2016  # $1 is the hook's: the new root
  mmdebstrap --quiet --mode=root "${recipe[@]}" \
    --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/log/* "$1"/etc/resolv.conf "$1"/etc/hostname' \
    trixie "$new" "${sources[@]}" >"$log" 2>&1 || not_made
  mv "$new" "$base"
fi

rm -rf "$context"
mkdir -p "$context"/{bin,runtime/bin,runtime/lib}
ln "$base" "$context/base.tar" 2>/dev/null || cp "$base" "$context/base.tar"

# stage FROM TO PATCHELF-OPTIONS...: without debug information, and without paths of the machine that built it.
# What is not built is left out: the image that wants it says so.
stage() {
  local from=$build/$1 to=$context/$2
  shift 2
  [[ -e $from ]] || return 0
  strip --strip-unneeded -o "$to" "$from"
  patchelf "$@" "$to"
  chmod 755 "$to"
}
# The agent's own libraries lie beside it where it was installed into a volume. RPATH, not RUNPATH: it holds for
# the libraries of libraries too, and does not yield to the environment of a user's container.
for program in "${in_volume[@]}"; do
  stage "bin/$program" "runtime/bin/$program" --force-rpath --set-rpath "\$ORIGIN/../lib/agent"
done
# Under the name that programs ask for, and that for linking in an image.
library=$(readlink "$build/lib/libelastic_mpi.so") || fail "$build/lib has no libelastic_mpi.so"
stage "lib/$library" "runtime/lib/$library" --remove-rpath
ln -s "$library" "$context/runtime/lib/libelastic_mpi.so"
for program in "${of_operator[@]}"; do stage "bin/$program" "bin/$program" --remove-rpath; done
# In a pod of the operator the library is in the volume; without one it is the image's.
for program in "${applications[@]}"; do
  stage "bin/$program" "bin/$program" --set-rpath /opt/elastic-mpi/lib:/opt/elastic-mpi-image/lib
done
install -m 755 "$here/install.sh" "$context/runtime/bin/install"
install -m 755 "$here/distil.sh" "$context/"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds images with ENGINE (buildah, podman or docker) from CONTEXT and writes each as a docker-archive. An IMAGE with a
# slash is a user's folder, with a Containerfile of its own.
# Usage: build.sh ENGINE CONTEXT OUT TAG IMAGE...      prints for each: image NAME SIZE MB compressed (without the size where
# EMPI_IMAGE_SIZES is no: compressing takes as long as making)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=scripts/why_no_packages.sh
source "$here/../scripts/why_no_packages.sh"
engine=$1 context=$2 out=$3 tag=$4
shift 4
fail() { printf 'images: %s\n' "$*" >&2; exit 1; }
prefix=localhost/elastic-mpi

run() { "$engine" "$@"; }
if [[ $engine == buildah ]]; then
  # As root of a namespace there is no other container runtime to rely on; layers stay in the cache.
  export BUILDAH_ISOLATION=chroot
  storage=(--root /cache/images/storage --runroot /run/buildah --storage-driver overlay)
  buildah "${storage[@]}" info >/dev/null 2>&1 || storage=(--root /cache/images/storage-vfs --runroot /run/buildah --storage-driver vfs)
  run() { buildah "${storage[@]}" "$@"; }
  # buildah would raise them, which a sandbox may forbid.
  limits=(--ulimit "nofile=$(ulimit -Sn):$(ulimit -Hn)" --ulimit "nproc=$(ulimit -Su):$(ulimit -Hu)")
  limits=("${limits[@]//unlimited/-1}")
fi

# How the image is called, and where it is made.
name_of() { if [[ $1 == */* ]]; then echo "localhost/$(basename "$1"):local"; else echo "$prefix-$1:$tag"; fi; }
recipe_of() { if [[ $1 == */* ]]; then echo "$1"; else echo "$here/$1"; fi; }
folder_of() { if [[ $1 == */* ]]; then echo "$1"; else echo "$context"; fi; }

# build NAME [BASE]
build() {
  local base=() file recipe folder
  recipe=$(recipe_of "$1")/Containerfile folder=$(folder_of "$1")
  while read -r file; do
    [[ -e $folder/$file ]] || fail "the image $(basename "$1") needs $file, which is not in $folder"
  done < <(sed -n '/--from=/d; s/^COPY \(.*\) [^ ]*$/\1/p' "$recipe" | tr ' ' '\n')
  [[ -z ${2:-} ]] || base=(--build-arg "BASE=$2")
  case $engine in
    buildah) run build --quiet --layers --format docker "${limits[@]}" "${base[@]}" --tag "$(name_of "$1")" --file "$recipe" "$folder" ;;
    *) run build --quiet "${base[@]}" --tag "$(name_of "$1")" --file "$recipe" "$folder" ;;
  esac >"$log" 2>&1 || not_built "$1"
}

not_built() { # NAME
  # Those of a user's folder may fetch anything.
  if [[ $1 != */* && $(why_no_packages "$log") == network ]]; then printf 'images: %s\n' "$1: $no_network" >&2; exit 2; fi
  tail -n 30 "$log" >&2
  fail "building $1 with $engine failed: see above"
}

save() {
  local name file
  name=$(name_of "$1") file=$out/$(basename "$1")
  rm -f "$file.new"
  case $engine in
    buildah) run push --quiet "$name" "docker-archive:$file.new:$name" ;;
    *) run save --output "$file.new" "$name" ;;
  esac >"$log" 2>&1 || { cat "$log" >&2; fail "saving $1 with $engine failed: see above"; }
  mv "$file.new" "$file.tar"
}

# As a registry has it: every layer compressed.
size() {
  [[ ${EMPI_IMAGE_SIZES:-} == no ]] || gzip -c "$1" | wc -c | awk '{ printf "%6.1f MB compressed", $1 / 1e6 }'
}

# Of which image NAME is made; a BASE of the user's takes the place of the minimal Debian.
base_of() {
  case $1 in
    base | */*) ;;
    operator | sidecar | runtime) echo "${EMPI_IMAGE_BASE:-$prefix-base:$tag}" ;;
    *) echo "$prefix-runtime:$tag" ;;
  esac
}

declare -A built
make() {
  [[ -z ${built[$1]:-} ]] || return 0
  built[$1]=yes
  case $1 in
    base) ;;
    operator | sidecar | runtime) [[ -n ${EMPI_IMAGE_BASE:-} ]] || make base ;;
    *) make runtime ;;
  esac
  echo "images: building $1" >&2
  build "$1" "$(base_of "$1")"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p "$out"
for name in "$@"; do
  make "$name"
  save "$name"
  file=$out/$(basename "$name").tar
  printf 'image %-10s %s  %s  %s\n' "$(basename "$name")" "$(size "$file")" "$(name_of "$name")" "$file"
done

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev e2e --from REV: an older commit of this repository, with its programs, its images and its chart, for cases that
# upgrade from it. It is kept in the cache, in from/COMMIT, for all checkouts. Sourced by e2e.sh, on the host.

# Cases say `# from: REV` when they need one; --from takes the place of their own choice. Sets $older to the commit, or to ''.
# Before there is a cluster, which would wait for the compiler.
make_older_images_of() { # CASES...
  older=
  local chosen
  chosen=$(needs_of from "$@")
  [[ -n $chosen ]] || { [[ -z ${EMPI_FROM:-} ]] || say 'e2e: --from: none of these cases upgrades from a commit'; return 0; }
  check_machine
  find_commit "${EMPI_FROM:-${chosen%% *}}" || exit 1
  make_older_images || exit
  older=$EMPI_FROM
}
load_older_images() { [[ -z $older ]] || load "$cache/from/$older/from"/{operator,runtime,jacobi}.tar; }

git_inside() { (choose_root packages.txt && enter_root git -c safe.directory='*' -C "$project" "$@"); }

find_commit() { # REV
  choose_root packages.txt
  ensure_root
  EMPI_FROM=$(git_inside rev-parse --verify --quiet "$1^{commit}") ||
    die "e2e: --from: there is no commit '$1' here (a shallow clone has few: git fetch --unshallow)"
  export EMPI_FROM
  choose_cluster_root
}

# Its programs are built by its own ./dev, no more of them than its images hold; the images' names are then of the commit,
# since those of the present one may be called the same.
make_older_images() {
  local folder=$cache/from/$EMPI_FROM name
  [[ ! -e $folder/from/done ]] || return 0
  mkdir -p "$cache/from"
  (
    flock 8
    [[ ! -e $folder/from/done ]] || exit 0
    say "building the images of commit ${EMPI_FROM:0:12} (once)"
    if [[ ! -e $folder/dev ]]; then
      mkdir -p "$folder.new"
      git_inside archive "$EMPI_FROM" | tar -x -C "$folder.new" && mv "$folder.new" "$folder" || exit 1
    fi
    unset EMPI_IMAGE_BUILD EMPI_PRESET
    "$folder/dev" build release --target elastic-mpi-operator empi elastic-mpi-agent elastic-mpi-sidecar elastic_mpi empi-jacobi || exit
    EMPI_IMAGE_BUILD=build/release "$folder/dev" images operator runtime jacobi || exit
    mkdir -p "$folder/from"
    for name in operator runtime jacobi; do
      in_e2e_root bash "$project/e2e/cluster/rename_image.sh" "$folder/build/images/$name.tar" \
        "localhost/elastic-mpi-$name:${EMPI_FROM:0:12}" "$folder/from/$name.tar" || exit 1
    done
    touch "$folder/from/done"
  ) 8>"$cache/from/$EMPI_FROM.lock" >&2
}

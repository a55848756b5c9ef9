# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev images: container images of what build/release holds. Sourced by root.sh, on the host.

images_usage() {
  cat <<'USAGE'
Usage: ./dev images [OPTIONS] [NAME|FOLDER...]     builds the images (all by default) into build/images/NAME.tar, for
                                  ./dev e2e load NAME   or   docker load, podman load, skopeo copy; beside each
                                  NAME.spdx.json, which lists what it is made of (SPDX 2.3)
       --locked         refuses packages of other versions than containers/packages.lock says
       --lock           writes that file, by all images
       --snapshot DATE  takes packages from Debian's archive as it was, 20261123T000000Z (snapshot.debian.org, or
                        EMPI_SNAPSHOTS, an address that has debian/DATE and debian-security/DATE)
       operator    the operator and the empi command line
       runtime     base of application images: Open MPI, PMIx, agent, library, sidecar
       sidecar     agent, library, sidecar and their installer for pods of other images
       jacobi, mandelbrot, spe10, surrogate, tsunami    the applications, on runtime
       FOLDER      of your own, with a Containerfile FROM the runtime image; it becomes localhost/NAME:local, NAME
                   being the folder's

Environment: EMPI_IMAGE_BASE     build on this image instead of a minimal Debian 13 made here (debian:trixie-slim)
             EMPI_IMAGE_ENGINE   docker or podman of this machine, instead of buildah in the Debian root
             EMPI_IMAGE_BUILD    take programs from this build folder as they are, instead of building build/release
USAGE
}

# Brings in build/release up to date what these images are made of, of all where none is named, unless the programs are
# taken from elsewhere. (Failures are looked at one by one here: this also runs where the shell does not.)
build_programs() { # IMAGES...
  [[ -z ${EMPI_IMAGE_BUILD:-} ]] || return 0
  choose_root packages.txt
  ensure_root
  # shellcheck disable=SC2046  # one word each
  (enter_root "$project/dev" build "${EMPI_PRESET:-release}" $(targets_of_images "$@") >&2) || exit
}

# The programs that the Containerfiles copy, and what each image of a job has. Nothing where that is not known, or all.
targets_of_images() { # IMAGES...: ours, or folders
  local name programs=()
  [[ $# -gt 0 && " $* " != *' own '* && " $* " != *'/own '* ]] || return 0
  for name in "$@"; do
    [[ $name != */* ]] || continue # a user's, of programs of their own
    mapfile -t -O "${#programs[@]}" programs < <(sed -n 's/^COPY bin/bin/p' "$project/containers/$name/Containerfile" | grep -oE '\<bin/(empi|elastic-mpi)[a-z0-9-]*')
  done
  # shellcheck source=containers/programs.sh
  (source "$project/containers/programs.sh" && echo --target elastic_mpi "${in_volume[@]}" "${programs[@]#bin/}")
}

images() {
  local names=() all=() name out=$project/build/images lock=
  for name in "$project"/containers/*/Containerfile; do
    name=$(basename "$(dirname "$name")")
    [[ $name == base ]] || all+=("$name")
  done
  while [[ ${1:-} == -* ]]; do
    case $1 in
      --locked) lock='check' ;;
      --lock) lock='write' ;;
      --snapshot)
        [[ ${2:-} =~ ^[0-9]{8}T[0-9]{6}Z$ ]] || die "images: --snapshot wants a date like 20261123T000000Z, not '${2:-}'"
        export EMPI_SNAPSHOT=$2
        [[ -z ${EMPI_IMAGE_BASE:-} ]] || die 'images: --snapshot is for the minimal Debian made here: leave EMPI_IMAGE_BASE out'
        shift
        ;;
      -h | --help)
        images_usage
        return
        ;;
      *) die "images: there is no option '$1': ./dev images --help" ;;
    esac
    shift
  done
  [[ $lock != write || $# == 0 ]] || die 'images: --lock is about all images: name none'
  for name in "$@"; do
    case " base ${all[*]} " in
      *" $name "*) names+=("$name") ;;
      *)
        if [[ $name == own ]]; then
          names+=("$out/own") # of the case [own-program]
        elif [[ -e $name/Containerfile && $(basename "$(realpath "$name")") =~ ^[a-z0-9]+([._-][a-z0-9]+)*$ ]]; then
          names+=("$(realpath "$name")")
        elif [[ -e $name/Containerfile ]]; then
          die "images: the folder $name gives its name to an image: use a-z, 0-9 and single . _ - between them"
        else
          die "images: there is no image '$name'; these are: ${all[*]}, or a folder with a Containerfile"
        fi
        ;;
    esac
  done
  local from=${EMPI_IMAGE_BUILD:-build/${EMPI_PRESET:-release}} engine=${EMPI_IMAGE_ENGINE:-buildah}
  case $engine in
    buildah) ;;
    docker | podman) command -v "$engine" >/dev/null || die "EMPI_IMAGE_ENGINE: there is no $engine on this machine" ;;
    *) die "EMPI_IMAGE_ENGINE: '$engine' is not known: docker, podman or buildah" ;;
  esac
  build_programs "${names[@]}"
  [[ -x $project/$from/bin/elastic-mpi-agent ]] || die "images: $from/bin has no elastic-mpi-agent: is it a build folder of this project?"
  if [[ ${#names[@]} == 0 ]]; then
    for name in "${all[@]}"; do
      if [[ $name == operator && ! -x $project/$from/bin/elastic-mpi-operator ]]; then
        say "images: leaving out operator: $from/bin/elastic-mpi-operator is not built"
      else
        names+=("$name")
      fi
    done
  fi

  local tag built_in
  choose_root packages.txt
  built_in=/cache/$(basename "$root")/var/lib/dpkg/status # of the packages that the programs were built with
  [[ -e $root/var/lib/dpkg/status ]] || built_in=
  tag=$(sed -n 's/^project(ElasticMPI VERSION \([0-9.]*\).*/\1/p' "$project/CMakeLists.txt")
  mkdir -p "$out"
  if [[ " ${names[*]} " == *" $out/own "* ]]; then
    choose_root packages.txt
    ensure_root
    (enter_root bash "$project/runtime/sdk/testing/lay_out_own.sh" "$project/$from" "$out/own") || exit
  fi
  choose_root packages-e2e.txt
  ensure_root
  (enter_root bash "$project/containers/context.sh" "$project/$from" "$out/context") || exit
  local build=(bash "$project/containers/build.sh" "$engine" "$out/context" "$out" "$tag" "${names[@]}")
  if [[ $engine == buildah ]]; then (enter_root env HOME=/cache/home "${build[@]}"); else "${build[@]}"; fi || exit
  # What each is made of, beside it.
  local archives=()
  for name in "${names[@]}"; do archives+=("$out/$(basename "$name")"); done
  # shellcheck disable=SC2016  # the inner shell's
  (enter_root bash -c 'for image in "${@:3}"; do python3 "$0" "$image.tar" "$1" "$2" >"$image.spdx.json" || exit; done' \
    "$project/containers/sbom.py" "$tag" "$built_in" "${archives[@]}") || exit
  if [[ -n $lock ]]; then
    (enter_root python3 "$project/containers/lock.py" "$lock" "$project/containers/packages.lock" "${archives[@]/%/.spdx.json}") || exit
  fi
}

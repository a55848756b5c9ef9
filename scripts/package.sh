# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev package: what is given to others, of the programs of build/release, in build/packages. Sourced by root.sh, on
# the host.

# shellcheck source=scripts/e2e.sh
source "$project/scripts/e2e.sh"

package_usage() {
  cat <<'USAGE'
Usage: ./dev package     builds, in build/packages, and prints with their sizes
       elastic-mpi-runtime_VERSION_amd64.deb    library, agent, sidecar
       elastic-mpi-dev_VERSION_amd64.deb        headers, C++ library, CMake and pkg-config files
       elastic-mpi_VERSION_amd64.deb            empi, the operator
       elastic-mpi-VERSION.tgz                  the chart, for helm install
       install.yaml                             the chart as one file, for kubectl apply

They are for Debian 13 (and what has its Open MPI). The images are made by ./dev images.
Environment: EMPI_PRESET   the preset whose programs they hold (release)
USAGE
}

package() {
  case ${1:-} in
    '') ;;
    -h | --help)
      package_usage
      return
      ;;
    *)
      say "package: there is no option '$1': ./dev package --help"
      exit 2
      ;;
  esac
  local out=$project/build/packages said=$project/build/helm.log
  ensure_root
  run_in_root "$project/dev" package || exit
  list_packages "$out"/*.deb
  choose_root packages-e2e.txt
  ensure_root
  in_e2e_root bash "$project/e2e/cluster/build.sh" helm >&2 || exit
  local with_helm=(env PATH="$(programs):/usr/sbin:/usr/bin")
  if ! in_e2e_root "${with_helm[@]}" helm package "$project/helm/elastic-mpi" --destination "$out" >"$said" 2>&1 ||
    ! in_e2e_root "${with_helm[@]}" bash "$project/e2e/cluster/manifest.sh" >"$out/.install.yaml" 2>"$said"; then
    cat "$said" >&2
    rm -f "$out/.install.yaml"
    die 'package: helm failed: see above'
  fi
  mv "$out/.install.yaml" "$out/install.yaml"
  rm "$said"
  list_packages "$out"/*.tgz "$out/install.yaml"
}
list_packages() { # FILE...
  local file
  for file; do printf 'package %8.1f kB  %s\n' "$(awk -v b="$(stat -c %s "$file")" 'BEGIN { print b / 1000 }')" "$file"; done
}

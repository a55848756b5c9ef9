#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs of the cluster that Debian does not have, from the Go modules that the go.sum files pin,
# each its own, into the cache. Runs inside the root of .ci/packages-e2e.txt.
# Usage: build.sh [kube coredns helm kwok metrics-adapter calico]     kube: of the version EMPI_KUBERNETES. The last three
# are for some cases only: kwok simulates nodes and pods, metrics-adapter serves the sidecars' figures to an autoscaler,
# calico makes packet filters of NetworkPolicies.
set -euo pipefail
# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

components='kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet'
# What is kept while another checkout builds other versions: programs by what they are built from, compiled packages
# for all. It makes way for what people wait for, unless EMPI_BUILD_NICE says otherwise.
export GOPATH=/cache/go GOCACHE=/cache/go/build GOTOOLCHAIN=local GOFLAGS='-mod=readonly -buildvcs=false' CGO_ENABLED=0
# A compiler ends before its garbage is worth collecting, unless it has made 2 GB; what nobody debugs needs no notes for a
# debugger, which the linker would leave out. Together a fifth of helm's time.
export GOGC=off GOMEMLIMIT=2GiB

# What newer modules are built with: the Go that they name, from the module proxy.
toolchain_of() { sed -n 's/^toolchain //p' "$cluster_source/go/$1/go.mod"; } # MODULE

build() { # PROGRAM PACKAGE HOW-LONG [FLAGS]
  local program=$1 package=$2 flags=${4:-} module=$1 folder toolchain
  if [[ $program == kube ]]; then module=$(kubernetes_module); fi
  folder=$(program_folder "$module")
  toolchain=$(toolchain_of "$module")
  [[ ! -x $folder/$program ]] || return 0
  mkdir -p "$folder"
  (
    # Somebody may be building it already, for this checkout or for another.
    flock 8
    [[ ! -x $folder/$program ]] || exit 0
    say "building $program from Go modules ($3 on two cores, once)"
    (cd "$cluster_source/go/$module" && GOTOOLCHAIN=${toolchain:-local} nice -n "${EMPI_BUILD_NICE:-10}" go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w $flags" -o "$folder/$program.new" "$package") ||
      { say "building $program failed: see above; it needs the Go module proxy (environment: GOPROXY, https_proxy, SSL_CERT_FILE)"; exit 2; }
    mv "$folder/$program.new" "$folder/$program"
  ) 8>"$folder/lock" || exit
}

[[ $# -gt 0 ]] || set -- kube coredns helm
for program in "$@"; do
  case $program in
    kube)
      version=$(kubernetes_version)
      minor=${version#1.}
      stamp=k8s.io/component-base/version
      build kube . 'about 5 minutes' "-X $stamp.gitVersion=v$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}"
      for name in $components; do ln -sfn kube "$(program_folder "$(kubernetes_module)")/$name"; done
      ;;
    coredns) build coredns . 'a minute' ;;
    helm) build helm helm.sh/helm/v3/cmd/helm 'a minute' ;;
    kwok) build kwok sigs.k8s.io/kwok/cmd/kwok 'a minute' ;;
    calico)
      build calico . 'some minutes'
      folder=$(program_folder calico)
      ln -sfn calico "$folder/calico-felix"
      # What the API server is to know of Calico is in the same module.
      if [[ ! -e $folder/crds ]]; then
        rm -rf "$folder/crds.new"
        cp -r --no-preserve=mode "$(cd "$cluster_source/go/calico" && go list -m -f '{{.Dir}}' github.com/projectcalico/calico)/libcalico-go/config/crd" "$folder/crds.new"
        mv -T "$folder/crds.new" "$folder/crds"
      fi
      ;;
    metrics-adapter) build metrics-adapter . 'seconds' ;;
    *) fail "there is no program '$program' to build: kube, coredns, helm, kwok, metrics-adapter, calico" ;;
  esac
done

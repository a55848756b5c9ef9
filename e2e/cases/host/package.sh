#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev package makes Debian packages that Debian can install, a chart that helm reads and one file for kubectl
# full: it compresses everything that is built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
folder=build/packages
rm -rf "$folder"
said=$(./dev package)
fail() { echo "not so: $*" >&2; exit 1; }
so() { echo "so it is: $*" >&2; }

# What the command says that it has written is what there is.
[[ $(sed -n 's/^package .*  //p' <<<"$said" | sort) == "$(find "$PWD/$folder" -type f | sort)" ]] || fail "all files are named"$'\n'"$said"
so 'all files are named'
version=$(sed -n 's/^version: //p' helm/elastic-mpi/Chart.yaml)
for name in elastic-mpi-runtime elastic-mpi-dev elastic-mpi; do
  [[ -s $folder/${name}_${version}_amd64.deb ]] || fail "there is a package $name of version $version"
done
# apt resolves what they depend on within Debian and each other.
./dev shell 'apt-get install --simulate --no-install-recommends ./'"$folder"'/*.deb' | grep -c '^Inst elastic-mpi' | grep -x 3 >/dev/null ||
  fail 'apt would install all three'
so 'apt would install all three'
tar -xzOf "$folder/elastic-mpi-$version.tgz" elastic-mpi/Chart.yaml | grep -x "version: $version" >/dev/null || fail "the chart has version $version"
tar -tzf "$folder/elastic-mpi-$version.tgz" | grep '^elastic-mpi/crd/elasticmpijob.yaml$' >/dev/null || fail 'the chart has the CRD itself'
so 'the chart has its version and the CRD'
cmp "$folder/install.yaml" helm/install.yaml || fail 'install.yaml is that of the repository'
so 'install.yaml is that of the repository'

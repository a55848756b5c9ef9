#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The other half of case [mpi-operator], with Go and the built programs on PATH.
set -euo pipefail
module=github.com/kubeflow/mpi-operator version=v0.8.2
sum=h1:7PVtV31iX3LSVW0BqRQ64w/NYNfAgP86Bmua2OEi5lg=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "not so: $*" >&2; exit 1; }

cd "$work"
export GOPATH=/cache/go GOTOOLCHAIN=local GOFLAGS=-mod=mod
# To compile it takes a newer Go than Debian's, which go says and fails; the module is there all the same.
go mod download -json "$module@$version" >module.json || true
field() { sed -n "s/^\t\"$1\": \"\(.*\)\",\?$/\1/p" module.json; }
[[ -r $(field Zip) ]] || fail "the Go module proxy has $module $version (environment: GOPROXY, https_proxy): $(<module.json)"
[[ $(field Sum) == "$sum" ]] || fail "$module $version is what it was ($sum)"
unzip -q "$(field Zip)" "$module@$version/examples/*"
examples=$work/$module@$version/examples/v2beta1

# What each becomes: a job that is valid, by the API's own schema, or a line that names the field.
tried=0
for file in "$examples"/*/*.yaml; do
  name=$(basename "$file" .yaml)
  tried=$((tried + 1))
  if empi import "$file" >"$name.yaml" 2>"$name.said"; then
    sed 's/^spec:$/spec:\n  scheduling: {expectedSeconds: 60}/' "$name.yaml" >"$name.valid.yaml" # without which nothing can be simulated
    empi simulate "$name.valid.yaml" --workers 8 >/dev/null || fail "what $name became is a job"
    echo "mpi-operator: $name: a job"
  else
    grep -qE "$name.yaml:[0-9]+: spec\.[A-Za-z.]+: " "$name.said" || fail "$name is refused with its line, the field and the reason: $(<"$name.said")"
    echo "mpi-operator: $name: refused: $(sed 's/^[^ ]* //' "$name.said")"
  fi
done
[[ $tried -ge 5 ]] || fail "there are examples: $tried in $examples"
[[ -s pi.yaml && -s tensorflow-mnist.yaml && -s tensorflow-benchmarks.yaml ]] || fail 'those for Open MPI become jobs'

# The image's program lies elsewhere here, and nothing else of the job is touched.
mpicxx -O2 "$examples/pi/pi.cc" -o pi
sed "s#/home/mpiuser/pi#$work/pi#" pi.yaml >here.yaml
EMPI_STATE_DIR=$work/state empi run here.yaml --out "$work/out" --logs >said 2>&1 || fail "pi ends well: $(<said)"
grep -q 'pi is approximately 3\.141' said || fail "pi says what it found: $(<said)"
[[ $(grep -c "^\[.*Workers: 2" said) == 1 ]] || fail "two ranks worked, and one says it: $(<said)"
sed -n 's/.*\(pi is approximately.*\)/mpi-operator: \1/p' said

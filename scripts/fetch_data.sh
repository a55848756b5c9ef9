#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the public data of the tsunami cases into a folder, and checks every file.
# Usage: scripts/fetch_data.sh [chile2010] [tohoku2011] [nthmp]     (default: chile2010, what ./dev demo uses)
#   EMPI_DATA     the folder (default: ./data); later commands need the same setting
#   GITHUB_RAW    where files are fetched from (default: https://raw.githubusercontent.com), for a mirror
#   DEBIAN        the same for Debian's packages (default: https://deb.debian.org/debian)
# What the files are, whose they are and what else the tests can use: docs/data.md
set -euo pipefail

EMPI_DATA=$(realpath -m -- "${EMPI_DATA:-data}")
: "${GITHUB_RAW:=https://raw.githubusercontent.com}"
: "${DEBIAN:=https://deb.debian.org/debian}"

fail() {
  printf 'fetch_data: %s\n' "$*" >&2
  exit 2
}

# there CASE/NAME SHA256: whether it is, whole
there() {
  [[ -e $EMPI_DATA/$1 ]] && echo "$2  $EMPI_DATA/$1" | sha256sum --check --status || return 1
  printf 'fetch_data: %s is there already\n' "$1"
}

parts=() # what is being fetched, until it is whole
trap 'rm -f -- "${parts[@]}"' EXIT

# download URL SHA256 TARGET
download() {
  local url=$1 sum=$2 target=$3 part=$3.part$$ status=0
  mkdir -p "$(dirname "$target")" || fail "cannot make the folder $(dirname "$target"): set EMPI_DATA to one you can write to"
  parts+=("$part")
  curl --fail --location --silent --show-error --retry 2 --connect-timeout 15 --output "$part" "$url" || status=$?
  [[ $status != 23 ]] || fail "cannot write $part: free some room there, or set EMPI_DATA to a folder that you can write to"
  [[ $status == 0 ]] ||
    fail "could not fetch $url: check the network and proxy settings (https_proxy), or copy the file to $target by hand"
  if ! echo "$sum  $part" | sha256sum --check --status; then
    fail "$url has sha256 $(sha256sum <"$part" | cut -d' ' -f1), expected $sum: the download was altered or cut off, try again"
  fi
  mv "$part" "$target"
}

# get CASE NAME SHA256 REPOSITORY COMMIT PATH
get() {
  if there "$1/$2" "$3"; then return; fi
  download "$GITHUB_RAW/$4/$5/$6" "$3" "$EMPI_DATA/$1/$2"
  printf 'fetch_data: %s\n' "$1/$2"
}

# from_package CASE NAME SHA256 PACKAGE PACKAGE_SHA256 MEMBER: one file of a Debian package
from_package() {
  if there "$1/$2" "$3"; then return; fi
  local folder=$EMPI_DATA/$1
  command -v dpkg-deb >/dev/null || { command -v ar >/dev/null && command -v xz >/dev/null; } ||
    fail "to unpack a Debian package, dpkg-deb, or ar and xz, are needed: install dpkg, or binutils and xz-utils"
  # Somebody may have put it there by hand.
  echo "$5  $folder/package.deb" | sha256sum --check --status 2>/dev/null || download "$DEBIAN/pool/main/$4" "$5" "$folder/package.deb"
  parts+=("$folder/package.deb" "$folder/$2.part$$")
  if command -v dpkg-deb >/dev/null; then
    dpkg-deb --fsys-tarfile "$folder/package.deb"
  else
    ar p "$folder/package.deb" data.tar.xz | xz -dc
  fi | tar -xO "./$6" >"$folder/$2.part$$"
  rm "$folder/package.deb"
  echo "$3  $folder/$2.part$$" | sha256sum --check --status || fail "$6 in the package $4 is not the file that is known"
  mv "$folder/$2.part$$" "$folder/$2"
  printf 'fetch_data: %s\n' "$1/$2"
}

# clawpack/geoclaw carried bathymetry and sea floor motion in its repository at the first commit, the gauge at the second.
chile2010() {
  local old=31cf70b8984e582e75c8a8cf2f6071fa9e2b3295 new=1af3d3e065fa27e7fb08a5639fabc08900ee030a
  get chile2010 etopo10min120W60W60S0S.asc cb5fedf258d3fc864171aade3ec84dbd866ede047c594532ad6f859c93f0f96f \
    clawpack/geoclaw $old scratch/etopo10min120W60W60S0S.asc
  get chile2010 dtopo_usgs100227.tt3 2a3a68ae44d8b53384f84a0fb6af98952e7a7300af37f02e0e4ecd9355dd9991 \
    clawpack/geoclaw $old scratch/dtopo_usgs100227.tt3
  get chile2010 32412_notide.txt 8696dd25b9c24d8e2555f0a0393b7d98992464bd2e075d86901321711c05c072 \
    clawpack/geoclaw $new examples/tsunami/chile2010/32412_notide.txt
  get chile2010 geoclaw_LICENSE 668317944192d8217d63c0fd0730f889bd07f759b69ed6b657e1fb9902145ebe \
    clawpack/geoclaw $new LICENSE
}

tohoku2011() {
  local repository=rjleveque/tohoku2011-paper1 commit=7134f562020d48aa61af3425a2cddaac29c4fa81
  get tohoku2011 etopo1min139E147E34N41N.asc 4a963accc43185985238b04b04f09c09632cae679403ef88c403f8dc5ce9306e \
    $repository $commit topo/etopo1min139E147E34N41N.asc
  get tohoku2011 dart_21413.txt d41a1bb4c383ebb9fd87bdc7eff5cca07f69d0fd260fb6a7f935e34435f34efe \
    $repository $commit dart/21413.txt
  get tohoku2011 dart_21413_notide.txt e3fb05bd00379e652d3e176efdfb28050d9c47f6206eeb96e0461d5b1d5c8b33 \
    $repository $commit dart/21413_notide.txt
  get tohoku2011 dart_21418.txt 799974f2b88914f12498c06650fc552336541f7553efad9e322fa2c06054c6fc \
    $repository $commit dart/21418.txt
  get tohoku2011 dart_21418_notide.txt 4532b8f85dc2a6b034f7797dccaed339c38db58cefea8201ecbf589f56e06aec \
    $repository $commit dart/21418_notide.txt
  from_package tohoku2011 etopo5.cdf 1455d5e5feebd183d0bef5538a750ca8a44801e1503f964df900831c224459ce \
    f/ferret-vis/ferret-datasets_7.6.0-5_all.deb e5770222647ebfe2ab77b845e07a7e05cb6fed7b12dec9ae287a1f8046031744 \
    usr/share/ferret-vis/data/etopo5.cdf
}

# The laboratory's model of Monai valley, for the tests.
nthmp() {
  local repository=rjleveque/nthmp-benchmark-problems commit=426dde002332d8ab3ae8a7f236ca06ac5d772e88
  local folder=BP07-DmitryN-Monai_valley_beach
  get nthmp $folder/Benchmark_2_Bathymetry.txt 842067732ae2085a1b25761a0a2ecb79a4ca8a5b0785f5b16b950c047c6526c9 \
    $repository $commit $folder/Benchmark_2_Bathymetry.txt
  get nthmp $folder/Benchmark_2_input.txt ef64a092f7f563ccc66ad86b2faa7d9f7f8aefd6f066af9ebc13b4f469a08499 \
    $repository $commit $folder/Benchmark_2_input.txt
}

command -v curl >/dev/null || fail 'curl is missing: install it (apt install curl)'
command -v sha256sum >/dev/null || fail 'sha256sum is missing: install coreutils'
[[ $# -gt 0 ]] || set -- chile2010
for case in "$@"; do
  case $case in
    chile2010 | tohoku2011 | nthmp) ;;
    -h | --help)
      sed -n '3,8s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) fail "unknown case '$case': use chile2010, tohoku2011 or nthmp" ;;
  esac
done
for case in "$@"; do "$case"; done
printf 'fetch_data: done; now use   EMPI_DATA=%q ./dev demo\n' "$EMPI_DATA"

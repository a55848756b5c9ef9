#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the public data of the tsunami cases into a folder, and checks every file.
# Usage: scripts/fetch_data.sh [chile2010] [tohoku2011]     (default: chile2010, what ./dev demo uses)
#   EMPI_DATA     the folder (default: ./data); later commands need the same setting
#   GITHUB_RAW    where files are fetched from (default: https://raw.githubusercontent.com), for a mirror
# What the files are, whose they are and what else the tests can use: docs/data.md
set -euo pipefail

EMPI_DATA=$(realpath -m -- "${EMPI_DATA:-data}")
: "${GITHUB_RAW:=https://raw.githubusercontent.com}"

fail() {
  printf 'fetch_data: %s\n' "$*" >&2
  exit 1
}

# get CASE NAME SHA256 REPOSITORY COMMIT PATH
get() {
  local target=$EMPI_DATA/$1/$2 sum=$3 url=$GITHUB_RAW/$4/$5/$6 part
  if [[ -e $target ]] && echo "$sum  $target" | sha256sum --check --status; then
    printf 'fetch_data: %s is there already\n' "$1/$2"
    return
  fi
  mkdir -p "$(dirname "$target")" || fail "cannot make the folder $(dirname "$target"): set EMPI_DATA to one you can write to"
  part=$target.part$$
  # shellcheck disable=SC2064  # this file's name, now
  trap "rm -f '$part'" EXIT
  curl --fail --location --silent --show-error --retry 2 --connect-timeout 15 --output "$part" "$url" ||
    fail "could not fetch $url: check the network and proxy settings (https_proxy), or copy the file to $target by hand"
  if ! echo "$sum  $part" | sha256sum --check --status; then
    fail "$url has sha256 $(sha256sum <"$part" | cut -d' ' -f1), expected $sum: the download was altered or cut off, try again"
  fi
  mv "$part" "$target"
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
}

command -v curl >/dev/null || fail 'curl is missing: install it (apt install curl)'
command -v sha256sum >/dev/null || fail 'sha256sum is missing: install coreutils'
[[ $# -gt 0 ]] || set -- chile2010
for case in "$@"; do
  case $case in
    chile2010 | tohoku2011) ;;
    -h | --help)
      sed -n '3,7s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *) fail "unknown case '$case': use chile2010 or tohoku2011" ;;
  esac
done
for case in "$@"; do "$case"; done
printf 'fetch_data: done; now use   EMPI_DATA=%q ./dev demo\n' "$EMPI_DATA"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# precompile.sh HEADER PARSED ARCHIVE COMPILER OPTIONS...: clang's parsed HEADER, and what of it is code, for programs that are
# compiled with it to link. What is parsed names no folder of this checkout: what the compiler cache has of another one is as
# good. Beside that cache both are remembered themselves, by what the preprocessor makes of the header.
set -euo pipefail
script=$(realpath "$0") header=$(realpath "$1") parsed=$(realpath -m "$2") archive=$(realpath -m "$3")
shift 3
read_header() { "$@" -x c++-header - <"$header"; }
copy() { cp "$1/x.pch" "$1/x.a" "$1/x.d" "$2/"; } # FROM TO

made=$(mktemp -d "$parsed.XXXXXX")
trap 'rm -rf "$made"' EXIT
remembered='' known=
[[ -z ${CCACHE_DIR:-} ]] || remembered=$(realpath -m "$CCACHE_DIR")/precompiled
cd /usr # which it names
if [[ -n $remembered ]]; then
  key=$({ "$1" --version && cat "$script" && echo "$@" && read_header "$@" -E -dD; } | sha256sum)
  known=$remembered/${key%% *}
  touch -c "$known" 2>/dev/null || true
fi
if ! { [[ -n $known ]] && copy "$known" "$made" 2>/dev/null; }; then
  read_header "$@" -fpch-instantiate-templates -fpch-codegen -MD -MQ PARSED -MF "$made/x.d" -o "$made/x.pch"
  # What a program does not use is left out of it; line numbers would stay, and whoever looks one up reads them all.
  (cd "$made" && "$@" -g0 -ffunction-sections -fdata-sections -Wno-unused-command-line-argument -c x.pch -o x.o)
  ar rcsD "$made/x.a" "$made/x.o"
  if [[ -n $known ]]; then
    # Without room for it all goes on. The six that were used last stay.
    {
      mkdir -p "$remembered" && fresh=$(mktemp -d "$known.XXXXXX") && copy "$made" "$fresh" && rm -rf "$known" && mv -T "$fresh" "$known"
    } 2>/dev/null || rm -rf "$known".??????
    {
      find "$remembered" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +7 | cut -d' ' -f2- | xargs -r -d '\n' rm -rf --
    } 2>/dev/null || true
  fi
fi
# As the compiler writes a target.
target=${parsed// /\\ } && target=${target//#/\\#} && target=${target//\$/\$\$}
depends=$(<"$made/x.d")
printf '%s%s\n' "$target" "${depends#PARSED}" >"$parsed.d"
mv "$made/x.pch" "$parsed"
mv "$made/x.a" "$archive"

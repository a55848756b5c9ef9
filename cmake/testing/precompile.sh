#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# precompile.sh HEADER PARSED OBJECT COMPILER OPTIONS...: clang's parsed HEADER, and what of it is code, for programs that are
# compiled with it to link. What is parsed names no folder of this checkout: what the compiler cache has of another one is as
# good. Beside that cache both are remembered themselves, by what the preprocessor makes of the header.
set -euo pipefail
script=$(realpath "$0") header=$(realpath "$1") parsed=$(realpath -m "$2") object=$(realpath -m "$3")
shift 3
read_header() { "$@" -x c++-header - <"$header"; }

cd /usr
known='' made=$(mktemp -d "$parsed.XXXXXX")
trap 'rm -rf "$made"' EXIT
if [[ -n ${CCACHE_DIR:-} ]]; then
  key=$({ "$1" --version && cat "$script" && echo "$@" && read_header "$@" -E; } | sha256sum)
  known=$CCACHE_DIR/precompiled/${key%% *}
fi
if ! { [[ -n $known ]] && cp "$known"/* "$made/" 2>/dev/null; }; then
  read_header "$@" -fpch-instantiate-templates -fpch-codegen -MD -MQ PARSED -MF "$made/x.d" -o "$made/x.pch"
  # What a program does not use is left out of it.
  "$@" -ffunction-sections -fdata-sections -Wno-unused-command-line-argument -c "$made/x.pch" -o "$made/x.o"
  if [[ -n $known ]]; then
    # Two of each kind. Without room there all goes on.
    {
      mkdir -p "${known%/*}" && fresh=$(mktemp -d "$known.XXXXXX") && cp "$made"/* "$fresh/" && mv -T "$fresh" "$known"
    } 2>/dev/null || rm -rf "$known".??????
    { find "${known%/*}" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | sort -rn | tail -n +7 | cut -d' ' -f2- | xargs -r rm -rf; } 2>/dev/null || true
  fi
elif [[ -w $known ]]; then
  touch "$known"
fi
sed "1s|^PARSED|${parsed// /\\\\ }|" "$made/x.d" >"$parsed.d"
mv "$made/x.pch" "$parsed"
mv "$made/x.o" "$object"

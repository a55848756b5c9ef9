#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lays out in DIR a root for PROGRAMS that has them, the libraries they load, their users and what Debian says of the
# packages these come from, and nothing else: no shell, no package manager. Runs in an image that has all of it.
# Usage: distil.sh DIR PROGRAM...
set -eu
to=$1
shift
mkdir -p "$to/usr/bin" "$to/usr/lib" "$to/usr/lib64" "$to/etc" "$to/tmp" "$to/var/lib/dpkg"
chmod 1777 "$to/tmp"
for folder in bin lib lib64; do ln -s "usr/$folder" "$to/$folder"; done
# The loader has two names there, one of them in every program.
libraries=$(ldd "$@" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | sort -u)
packages=
for name in $libraries; do
  file=$(realpath "$name")
  folder=$(realpath "$(dirname "$name")")
  mkdir -p "$to${file%/*}" "$to$folder"
  cp -a "$file" "$to$file"
  [ "$folder/${name##*/}" = "$file" ] || ln -sf "$(realpath --relative-to="$folder" "$file")" "$to$folder/${name##*/}"
  owner=$(dpkg-query --search "$file" | sed 's/:.*//')
  case " $packages " in *" $owner "*) ;; *) packages="$packages $owner" ;; esac
done
for program in "$@"; do
  mkdir -p "$to${program%/*}"
  cp -a "$program" "$to$program"
done
for package in base-files $packages; do
  dpkg-query --status "$package"
  echo
  mkdir -p "$to/usr/share/doc/$package"
  cp -aL "/usr/share/doc/$package/copyright" "$to/usr/share/doc/$package/"
done >"$to/var/lib/dpkg/status"
cp -a /etc/os-release /etc/debian_version /etc/nsswitch.conf "$to/etc/"
cp -aL /etc/os-release "$to/usr/lib/os-release"
printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n' >"$to/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$to/etc/group"

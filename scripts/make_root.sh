# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian 13 root in the cache, with nothing of the machine but a base Debian: what else it takes is unpacked
# into the cache. Sourced by root.sh, which sets $project, $cache, $suite, $packages and $root.

room_megabytes=3000 # a root has 2 GB, and half a one of packages while it is made

ensure_root() {
  check_this_machine
  if [[ -e $root/.complete ]]; then return; fi
  # Whoever holds this lock makes a root; it goes with the process, whatever way that ends.
  exec 9>"$cache/lock"
  flock --nonblock 9 || { say 'waiting for another ./dev that makes a root'; flock 9; }
  if [[ ! -e $root/.complete ]]; then make_root; fi
  exec 9>&-
}

make_root() {
  local new=$root.new free
  discard "$new" # of one that was interrupted
  has_room "$cache" "$room_megabytes" ||
    die "a Debian root takes $room_megabytes MB and $cache has $free: free some there, or set EMPI_CACHE to a folder elsewhere"
  say "making a Debian 13 root in $root (once, about a minute and 2 GB)"
  : >"$cache/root.log"
  if find_mmdebstrap; then
    make_root_with_mmdebstrap "$new" || failed_root "$new"
  elif command -v podman >/dev/null; then
    make_root_with_engine podman "$new" || failed_root "$new"
  elif command -v docker >/dev/null; then
    make_root_with_engine docker "$new" || failed_root "$new"
  elif command -v apt-get >/dev/null; then
    failed_root "$new"
  else
    die 'needs mmdebstrap (Debian package), podman or docker to make a Debian 13 root: install one of them'
  fi
  in_namespaces touch "$new/.complete"
  mv "$new" "$root"
}

# Says why in one line. What there is of a root goes, for it may be what has filled the disk.
failed_root() { # NEW
  local reason
  if grep -q 'No space left on device' "$cache/root.log" || ! room_is_left; then
    reason="no space is left in $cache: free $room_megabytes MB there, or set EMPI_CACHE to a folder elsewhere"
  elif grep -qE 'resolv|onnect|Failed to fetch|unreachable|timed out' "$cache/root.log"; then
    reason='packages of Debian could not be fetched: check the network and the proxy (http_proxy), then try again'
  else
    reason=$(grep -a '^E: ' "$cache/root.log" | tail -n1) || reason='it does not say why'
  fi
  discard "$1"
  die "no Debian root: $reason; all of it is in $cache/root.log"
}

# A full disk has no room for the log to say so either.
room_is_left() {
  local status=0
  { head -c 1M /dev/zero >"$cache/room"; } 2>/dev/null || status=1
  rm -f "$cache/room"
  return "$status"
}

# mmdebstrap is a Perl script: where it is not installed, its package is unpacked into the cache, and with it the
# modules of Perl that a base Debian does not have. Installing anything on the machine is left to the user.
find_mmdebstrap() {
  local tools=$cache/tools perl multiarch
  mmdebstrap=(env LC_ALL=C.UTF-8 mmdebstrap)
  if "${mmdebstrap[@]}" --version >/dev/null 2>&1; then return; fi
  command -v apt-get >/dev/null && command -v perl >/dev/null || return 1
  perl=$(perl -e 'print substr($^V, 1)')
  perl=${perl%.*}
  multiarch=$(perl -MConfig -e 'print $Config{archname} =~ s/-thread-multi$//r')
  mmdebstrap=(env LC_ALL=C.UTF-8 PATH="$tools/usr/bin:$PATH"
    PERL5LIB="$tools/usr/share/perl/$perl:$tools/usr/lib/$multiarch/perl/$perl:$tools/usr/share/perl5" mmdebstrap)
  if "${mmdebstrap[@]}" --version >/dev/null 2>&1; then return; fi
  say 'fetching mmdebstrap into the cache'
  fetch_packages "$tools" mmdebstrap || return 1
  if "${mmdebstrap[@]}" --version >/dev/null 2>&1; then return; fi
  fetch_packages "$tools" "perl-modules-$perl" "libperl$perl" || return 1
  "${mmdebstrap[@]}" --version >>"$cache/root.log" 2>&1
}

# Unpacks packages of the machine's distribution. Where it knows of none (a fresh container), or is not ours to ask,
# the lists are fetched into the cache, too.
fetch_packages() { # FOLDER NAMES...
  local folder=$1 apt=(apt-get -o APT::Sandbox::User=root) package
  shift
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  (
    cd "$folder"
    if ! "${apt[@]}" download "$@" >>"$cache/root.log" 2>&1; then
      apt+=(-o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/archives")
      "${apt[@]}" -o Acquire::Retries=2 update >>"$cache/root.log" 2>&1 || exit 1
      "${apt[@]}" download "$@" >>"$cache/root.log" 2>&1 || exit 1
    fi
    for package in *.deb; do dpkg-deb -x "$package" . && rm "$package" || exit 1; done 2>>"$cache/root.log"
  )
}

# In namespaces of its own, where it is root: killed with us, whatever way we end, it leaves neither processes nor
# mounts, and an ordinary user's root has the owners that it will have when it is entered.
make_root_with_mmdebstrap() { # NEW
  # The documentation of packages is left out by a setting of dpkg rather than by mmdebstrap's own filter: that one is
  # written in Python, which a base Debian does not have.
  # shellcheck disable=SC2016
  local options=(--mode=root --format=directory --variant=apt --include="$packages"
    --aptopt='Apt::Install-Recommends "false"'
    --essential-hook='printf "path-exclude=%s\n" "/usr/share/man/*" "/usr/share/locale/*" "/usr/share/doc/*" >"$1/etc/dpkg/dpkg.cfg.d/slim"'
    --essential-hook='echo "path-include=/usr/share/doc/*/copyright" >>"$1/etc/dpkg/dpkg.cfg.d/slim"')
  if [[ -n ${EMPI_PACKAGES:-} ]]; then
    { mkdir -p "$EMPI_PACKAGES" && [[ -w $EMPI_PACKAGES ]]; } 2>/dev/null || die "EMPI_PACKAGES: cannot write the folder $EMPI_PACKAGES"
    # shellcheck disable=SC2016
    options+=(--skip=download/empty --skip=essential/unlink
      --setup-hook='mkdir -p "$1/var/cache/apt/archives"; find "$EMPI_PACKAGES" -name "*.deb" -exec cp -t "$1/var/cache/apt/archives" {} +'
      --customize-hook='cp --no-clobber "$1"/var/cache/apt/archives/*.deb "$EMPI_PACKAGES"')
  fi
  run_mmdebstrap "${options[@]}" "$suite" "$1"
}

# A child of this very shell, no part of a pipeline: it ends when this ends, and with it the lock.
run_mmdebstrap() { # ARGUMENTS
  local status=0
  in_own_namespaces "${mmdebstrap[@]}" "$@" </dev/null > >(progress) 2>&1 || status=$?
  wait "$!" || true # the log is written
  return "$status"
}

make_root_with_engine() { # ENGINE NEW
  local engine=$1 container
  container=$("$engine" create "debian:$suite" sh -c \
    "apt-get update && apt-get install -y --no-install-recommends ${packages//,/ }" 2>>"$cache/root.log") || return 1
  "$engine" start --attach "$container" 2>&1 | progress || return 1
  mkdir -p "$2"
  "$engine" export "$container" | tar -x --no-same-owner -C "$2" || return 1
  "$engine" rm "$container" >/dev/null
}

# Shows that work goes on, without the noise of a package manager.
progress() {
  local line
  while IFS= read -r line; do
    case $line in
      'I: running --'*) ;;
      I:* | Get:* | Fetched*) printf 'dev:   %.100s\n' "$line" >&2 ;;
    esac
    printf '%s\n' "$line"
  done >>"$cache/root.log"
}

discard() { if [[ -e $1 ]]; then in_namespaces rm -rf --one-file-system "$1"; fi; }

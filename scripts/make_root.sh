# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian 13 root in the cache, with nothing of the machine but a base Debian: what else it takes is unpacked
# into the cache. Sourced by root.sh, which sets $project, $cache, $suite, $packages and $root.

room_megabytes=3000 # a root has 2 GB, and half a one of packages while it is made

ensure_root() {
  check_this_machine
  if [[ -e $root/.complete ]]; then return; fi
  lock_cache
  if [[ ! -e $root/.complete ]]; then make_root; fi
  exec 9>&-
}

# Whoever holds this lock makes or removes roots; it goes with the process, whatever way that ends.
lock_cache() {
  while true; do
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    take_cache_lock 9 'makes or removes a root'
    if [[ /dev/fd/9 -ef $cache/lock ]]; then return; fi # ./dev clean --all has not removed it meanwhile
  done
}

make_root() {
  local new=$root.new free
  discard "$new" # of one that was interrupted
  has_room "$cache" "$room_megabytes" ||
    die "a Debian root takes $room_megabytes MB and $cache has $free: free some there (./dev clean), or set EMPI_CACHE to a folder elsewhere"
  [[ -z ${EMPI_PACKAGES:-} ]] || { mkdir -p "$EMPI_PACKAGES" && [[ -w $EMPI_PACKAGES ]]; } 2>/dev/null ||
    die "EMPI_PACKAGES: cannot write the folder $EMPI_PACKAGES"
  say "making a Debian 13 root in $root (once, about a minute and 2 GB)"
  : >"$cache/root.log"
  if trusts_debian && find_mmdebstrap; then
    make_root_with_mmdebstrap "$new" || failed_root "$new"
  elif find_engine; then
    make_root_with_engine "$new" || failed_root "$new"
  else
    nothing_makes_it "$new"
  fi
  in_namespaces touch "$new/.complete"
  mv "$new" "$root"
}

# Whether this machine has the keys that Debian's packages are signed with. A Debian has; another distribution with apt
# and mmdebstrap (Ubuntu) need not.
trusts_debian() {
  compgen -G '/usr/share/keyrings/debian-archive-keyring.*' >/dev/null || compgen -G '/etc/apt/trusted.gpg.d/debian-archive-*' >/dev/null
}

# Sets $engine to the first one that answers. Of one that is there and does not, $silent_engine and what it $said.
find_engine() {
  silent_engine='' said=''
  for engine in podman docker; do
    if ! command -v "$engine" >/dev/null; then continue; fi
    if said=$("$engine" info 2>&1); then return; fi
    silent_engine=$engine
    printf '%s info: %s\n' "$engine" "$said" >>"$cache/root.log"
  done
  return 1
}

# Neither mmdebstrap nor an engine can: says what is nearest.
nothing_makes_it() { # NEW
  local user
  if trusts_debian; then
    if command -v apt-get >/dev/null && command -v perl >/dev/null; then failed_root "$1"; fi # it was to be fetched
  fi
  user=$(id -un 2>/dev/null) || user=$(id -u)
  case $silent_engine:$said in
    :*) ;;
    *'ermission denied'*)
      no_root "$1" "$silent_engine is not for $user: as root, usermod --append --groups $silent_engine $user, and log in anew; or run as root" ;;
    *'onnect to the Docker daemon'* | *'daemon running'* | *'daemon is running'*)
      no_root "$1" "$silent_engine is installed, but its daemon does not run: start it (systemctl start $silent_engine)" ;;
    *) no_root "$1" "$silent_engine is installed, but does not answer: $(tail -n1 <<<"$said")" ;;
  esac
  if ! trusts_debian && { command -v apt-get || command -v mmdebstrap; } >/dev/null; then
    no_root "$1" "this machine does not know the keys that Debian's packages are signed with: install the package debian-archive-keyring, podman or docker"
  fi
  die 'needs mmdebstrap (Debian package), podman or docker to make a Debian 13 root: install one of them'
}

# Says why in one line. What there is of a root goes, for it may be what has filled the disk.
failed_root() { # NEW
  local why reason
  why=$(why_no_packages "$cache/root.log")
  if [[ $why == full ]] || ! room_is_left; then
    reason="no space is left in $cache: free $room_megabytes MB there (./dev clean), or set EMPI_CACHE to a folder elsewhere"
  elif [[ $why == keys ]]; then
    reason="Debian's packages are signed with keys that this machine does not know: install the package debian-archive-keyring, or a newer one"
  elif [[ $why == network ]]; then
    reason=$no_network
  else
    reason=$(grep -aE '^(E: |Error|docker: )' "$cache/root.log" | tail -n1) || reason='it does not say why'
  fi
  no_root "$1" "$reason"
}

no_root() { # NEW REASON
  discard "$1"
  die "no Debian root: $2; all of it is in $cache/root.log"
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

# In a shell of its own: the container goes with it, whatever way that ends. (Process 1 of a container has no signal but
# those that it traps.)
make_root_with_engine() ( # NEW
  # docker hands on no proxy by itself; one that is not set is left out.
  container=$("$engine" create --env http_proxy --env https_proxy --env no_proxy "docker.io/library/debian:$suite" sh -c \
    "trap 'exit 1' INT TERM; { apt-get update && apt-get install -y --no-install-recommends ${packages//,/ }; } & wait \$!" \
    2>>"$cache/root.log") || exit 1
  trap '"$engine" rm --force "$container" >/dev/null 2>&1' EXIT
  "$engine" start --attach "$container" 2>&1 | progress || exit 1
  mkdir -p "$1"
  "$engine" export "$container" 2>>"$cache/root.log" | tar -x --no-same-owner -C "$1" || exit 1
)

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

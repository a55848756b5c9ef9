# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What of this machine is visible inside the Debian root, at the same path, and what is not: that is refused before
# anything runs. Sourced by root.sh, which sets $project, $cache and $root.

bound=()     # folders that are bound one by one
read_only=() # folders that can be read only

below() { [[ $1/ == "${2%/}"/* ]]; } # PATH FOLDER

# The system folders inside are Debian's. The same list as in scripts/enter.sh, but /dev, /proc and /sys.
is_system() { # PATH
  local top=${1#/}
  # (/cache is the one of ./dev inside, whatever a machine has there.)
  case ${top%%/*} in bin | sbin | lib* | usr | etc | var | boot | run | cache) return 0 ;; esac
  below "$1" /dev/shm
}

is_visible() { # PATH: absolute, no symbolic links
  local folder
  for folder in "${bound[@]}"; do
    if below "$1" "$folder"; then return 0; fi
  done
  ! is_system "$1"
}

# Whether the root has more at that place than mount points of ours.
hides_system() { [[ -n $(find "$root$1" ! -type d -print -quit 2>/dev/null) ]]; }

# Binds a folder of the user's that lies among the machine's system folders.
bind_folder() { # FOLDER WHAT
  local folder
  folder=$(realpath -m -- "$1")
  if [[ ! -d $folder ]] || is_visible "$folder"; then return 0; fi
  if hides_system "$folder"; then
    die "$2 $folder would hide a system folder of the Debian root: use one elsewhere, for example at home"
  fi
  bound+=("$folder")
}

choose_folders() {
  local folder
  bound=() read_only=()
  if [[ -d /var/tmp ]]; then bound+=(/var/tmp); fi
  bind_folder "$project" 'the project folder'
  bind_folder "$PWD" 'the working folder'
  # A home that is a system folder is that of a service; what it has there is not looked for.
  if [[ -n ${HOME:-} ]] && ! hides_system "$HOME"; then bind_folder "$HOME" HOME; fi
  if [[ -n ${TMPDIR:-} ]]; then bind_folder "$TMPDIR" TMPDIR; fi
  bind_folder "$cache" EMPI_CACHE
  if [[ -n ${EMPI_DATA:-} ]]; then bind_folder "$EMPI_DATA" EMPI_DATA; fi
  # Measured data is not to be changed by accident.
  for folder in "$(dirname "$project")/shared/data" "${EMPI_DATA:-}"; do
    if [[ -d $folder ]] && ! below "$project" "$folder" && ! below "$PWD" "$folder" && ! below "$cache" "$folder"; then
      read_only+=("$(realpath "$folder")")
    fi
  done
}

# names_output BEFORE ARGUMENT: whether that word of a command names the folder of its results; sets $output. -o does so
# for empi, in whose command line we are where $of_empi says so.
names_output() {
  case $1 in
    --out) output=$2 ;;
    -o) if $of_empi; then output=$2; else return 1; fi ;;
    *)
      case $2 in
        --out=*) output=${2#*=} ;;
        -o?*) if $of_empi; then output=${2#-o}; else return 1; fi ;;
        *) return 1 ;;
      esac
      ;;
  esac
}

# check_words CHECK_INPUT ARGUMENTS...: of a command. CHECK_INPUT is called with what may be a path to be read.
check_words() {
  local argument before='' output of_empi=false
  for argument in "${@:2}"; do
    if names_output "$before" "$argument"; then
      check_output "$output"
    else
      case $before:$argument in
        --data:*) "$1" "$argument" must ;;
        *:-*=*) "$1" "${argument#*=}" ;;
        *) "$1" "$argument" ;;
      esac
    fi
    if [[ ${argument##*/} == empi ]]; then of_empi=true; fi
    before=$argument
  done
}

# check_outputs ARGUMENTS...: of a command. Needs no root.
check_outputs() { check_words true "$@"; }

# check_paths ARGUMENTS...: of a command, and the variables EMPI_* and KUBECONFIG.
check_paths() {
  local argument name
  check_words check_input "$@"
  # Else another cluster would be asked than the user means.
  if [[ -n ${KUBECONFIG:-} && " $* " == *empi\ * ]]; then
    while IFS= read -r argument; do [[ ! -e $argument ]] || check_input "$argument"; done < <(tr ':' '\n' <<<"$KUBECONFIG")
  fi
  while IFS= read -r name; do
    if [[ $name == EMPI_PACKAGES || $name == EMPI_CACHE || ${!name:-} != /* ]]; then continue; fi # for the outside; no path
    check_input "${!name}"
    case $name in EMPI_STATE_DIR | XDG_STATE_HOME) make_top "$(realpath -m -- "${!name}")" ;; esac # jobs make their state there
  done < <(compgen -v EMPI_ || true; echo XDG_STATE_HOME)
}

# A folder at the top of this machine is bound if it is there: it is made for what is to be made in it.
make_top() { # PATH
  local top=${1#/}
  if [[ ! -e /${top%%/*} && -w / ]]; then mkdir "/${top%%/*}"; fi
}

# What exists here and is not there inside would not be found, and what neither has would be made inside, and not be found
# here. (A path that is there inside is a program's or the like.)
check_input() { # PATH [must]
  local path inside
  [[ -n ${2:-} || -e $1 || ($1 == */* && $1 != *[[:space:]]*) ]] || return 0 # a word, or a sentence
  path=$(realpath -m -- "$1" 2>/dev/null) || return 0
  if is_visible "$path"; then return 0; fi
  inside=$root$path
  if below "$path" /cache; then inside=$cache${path#/cache}; fi
  # (Links of the root need not lead anywhere here.)
  if [[ -n ${2:-} || ! (-e $inside || -L $inside) ]]; then
    die "$1 is in a system folder of this machine, which is not visible inside the Debian root: use your home or working folder"
  fi
}

# Results must outlive the root.
check_output() { # PATH
  local path there folder free
  [[ -n $1 ]] || die '--out needs the name of a folder'
  path=$(realpath -m -- "$1" 2>/dev/null) || die "--out: '$1' is no name of a folder"
  [[ $path != / ]] || die '--out: / is the root of this machine: name a folder'
  is_visible "$path" ||
    die "--out: $1 is in a system folder of this machine, which is not visible inside the Debian root: name a folder at home, in /tmp or in the working folder"
  there=$path
  while [[ ! -e $there && ! -L $there ]]; do there=$(dirname "$there"); done
  [[ -d $there || $there == "$path" ]] || die "--out: $there is not a folder"
  for folder in "${read_only[@]}"; do
    if below "$there" "$folder"; then die "--out: $1 is in the folder of measured data, which is read-only inside: name another"; fi
  done
  [[ -w $there ]] || die "--out: cannot write $there: name a folder that you can write to"
  has_room "$there" 1 || die "--out: no space is left in $there: free some, or name a folder elsewhere"
  make_top "$path"
}

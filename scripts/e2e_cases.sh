# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev e2e CASE...: where cases run, and what they need before. Sourced by e2e.sh, on the host.
# Those in cases/cluster run inside, on a cluster; those in cases/host run here, about ./dev e2e itself.

cases=$project/e2e/cases

run_cases() {
  local inside=() outside=() kubeconfig='' name
  while [[ $# -gt 0 ]]; do
    case $1 in
      list)
        bash "$cases/run.sh" cluster list
        bash "$cases/run.sh" host list
        return
        ;;
      --kubeconfig)
        kubeconfig=${2:-}
        [[ -r $kubeconfig ]] || die "e2e: --kubeconfig: there is no file '$kubeconfig'"
        kubeconfig=$(realpath "$kubeconfig")
        shift
        ;;
      full) export EMPI_FULL=yes ;;
      --or-skip) skip_status=0 ;;
      -*) die "e2e: there is no option '$1': ./dev e2e help" ;;
      */*) die "e2e: '$1' is no case: ./dev e2e list" ;;
      *)
        if [[ -e $cases/cluster/$1.sh ]]; then
          inside+=("$1")
        elif [[ -e $cases/host/$1.sh ]]; then
          outside+=("$1")
        else
          die "e2e: there is no command or case '$1': ./dev e2e help, ./dev e2e list"
        fi
        ;;
    esac
    shift
  done
  [[ -z $kubeconfig || -z ${kubernetes_named:-} ]] ||
    die 'e2e: --kubernetes is the version of a cluster that is started, and --kubeconfig names one that runs: leave one out'
  if [[ ${#inside[@]} == 0 && ${#outside[@]} == 0 && -n ${EMPI_FROM:-} && -z ${EMPI_FULL:-} ]]; then
    for name in "$cases"/cluster/*.sh; do [[ -z $(needs_of from "$(basename "$name" .sh)") ]] || inside+=("$(basename "$name" .sh)"); done
  fi
  if [[ ${#inside[@]} == 0 && ${#outside[@]} == 0 ]]; then
    for name in "$cases"/{cluster,host}/*.sh; do
      if [[ -z ${EMPI_FULL:-} ]] && sed -n '4,7p' "$name" | grep -q '^# full: '; then continue; fi
      if [[ $name == */cluster/* ]]; then inside+=("$(basename "$name" .sh)"); else outside+=("$(basename "$name" .sh)"); fi
    done
    [[ -z $kubeconfig ]] || outside=()
    export EMPI_CLUSTERS=${EMPI_CLUSTERS:-2}
  fi
  local failed=0
  if [[ ${#inside[@]} -gt 0 ]]; then
    if [[ -n $kubeconfig ]]; then on_existing_cluster "$kubeconfig" "${inside[@]}"; else on_own_cluster "${inside[@]}"; fi || failed=1
  fi
  if [[ ${#outside[@]} -gt 0 ]]; then
    check_machine
    bash "$cases/run.sh" host "${outside[@]}" || failed=1
  fi
  return "$failed"
}

# What cases say of their needs below their third line: `# images: NAME...` (of ./dev images), `# programs: kwok`
# (what e2e/cluster/build.sh makes besides), `# from: REV` (an older commit; e2e_from.sh).
needs_of() { # images|programs|from CASES...
  local what=$1 name
  shift
  for name in "$@"; do sed -n "4,6s/^# $what: //p" "$cases/cluster/$name.sh"; done | tr ' ' '\n' | sort -u | paste -sd' '
}

build_programs_of() { # CASES...
  local programs
  read -ra programs <<<"$(needs_of programs "$@")"
  if [[ ${#programs[@]} -gt 0 ]]; then in_e2e_root bash "$project/e2e/cluster/build.sh" "${programs[@]}" || exit; fi
}

load_images_of() { # CASES...
  local images
  read -ra images <<<"$(needs_of images "$@")"
  if [[ ${#images[@]} -gt 0 ]]; then load_images "${images[@]}"; fi
}

# Images are made when they are missing or older than a program of theirs. (./dev test links its own beside these while
# a second cluster looks.)
load_images() { # NAMES...
  local name stale=() images=("$@") from=$project/${EMPI_IMAGE_BUILD:-build/${EMPI_PRESET:-release}} made_of=() file
  # shellcheck source=scripts/images.sh
  source "$project/scripts/images.sh"
  # shellcheck source=containers/programs.sh
  source "$project/containers/programs.sh"
  build_programs "${images[@]}"
  for file in "${in_volume[@]/#/bin/}" "${of_operator[@]/#/bin/}" "${applications[@]/#/bin/}" lib/libelastic_mpi.so; do
    [[ ! -e $from/$file ]] || made_of+=("$(realpath "$from/$file")")
  done
  for name in "${images[@]}"; do
    if [[ ! -e $project/build/images/$name.tar ]] ||
      [[ -n $(find "${made_of[@]}" "$project/containers" "$project/runtime/sdk/testing" -type f -newer "$project/build/images/$name.tar" -print -quit) ]]; then
      stale+=("$name")
    fi
  done
  if [[ ${#stale[@]} -gt 0 ]]; then (EMPI_IMAGE_SIZES=no images "${stale[@]}" >&2) || exit; fi
  choose_cluster_root
  load "${images[@]}"
}

manifest() { # HELM ARGS...
  ensure_root >&2
  in_e2e_root bash "$project/e2e/cluster/build.sh" helm >&2 || exit
  in_e2e_root env PATH="$(programs):/usr/sbin:/usr/bin" bash "$project/e2e/cluster/manifest.sh" "$@"
}

on_existing_cluster() { # KUBECONFIG CASES...
  local failed=0 copy=/cache/home/.kube/e2e-$$ given=$1
  shift
  ensure_root
  in_e2e_root bash "$project/e2e/cluster/build.sh" helm || exit
  build_programs_of "$@"
  mkdir -p "$cache/home/.kube"
  install -m 600 "$given" "$cache${copy#/cache}" # where it is visible inside
  in_e2e_root env PATH="$(programs):/usr/sbin:/usr/bin" KUBECONFIG="$copy" EMPI_CLUSTER='' EMPI_FULL="${EMPI_FULL:-}" \
    bash "$cases/run.sh" cluster "$@" || failed=1
  rm -f "$cache${copy#/cache}"
  return "$failed"
}

# Most cases have a cluster to themselves and wait most of the time. So several clusters share them: this one makes
# what they need, then the others begin, each a ./dev e2e in this process group (a signal ends all of them), and the cases
# about clusters themselves, which start their own (of all that there are some are no good neighbours).
begin_others() { # CASES...; takes $outside
  local number
  export EMPI_CASE_CLAIMS=$project/out/e2e/claims
  rm -rf "$EMPI_CASE_CLAIMS"
  mkdir -p "$EMPI_CASE_CLAIMS"
  touch "$EMPI_CASE_CLAIMS/.together-$cluster"
  for ((number = 2; number <= clusters; number++)); do
    touch "$EMPI_CASE_CLAIMS/.together-$cluster-$number"
    EMPI_CLUSTER=$cluster-$number EMPI_CLUSTERS=1 env --default-signal=INT,QUIT "$project/dev" e2e "$@" &
    others+=($!)
  done
  [[ ${#outside[@]} == 0 || -n ${EMPI_FULL:-} ]] || {
    env --unset=EMPI_CLUSTER --default-signal=INT,QUIT bash "$cases/run.sh" host "${outside[@]}" &
    others+=($!)
    outside=()
  }
}
end_others() {
  [[ ${#others[@]} -gt 0 ]] || return 0 # wait without a name would wait for the cluster itself, which is a child of ours
  kill -INT "${others[@]}" 2>/dev/null || true
  wait "${others[@]}" 2>/dev/null || true
}

on_own_cluster() { # CASES...
  local ours=false failed=0 clusters=${EMPI_CLUSTERS:-1} others=() other older
  [[ $clusters =~ ^[1-4]$ ]] || die "e2e: EMPI_CLUSTERS: '$clusters' is no number from 1 to 4"
  make_older_images_of "$@"
  if ! is_ready; then
    up
    # Another one may have started it while we waited for the lock: then it ends it.
    ours=$started_here
    # To its end, whoever presses Ctrl-C again meanwhile (and who began the others tells them once more).
    if $ours; then trap 'trap "" INT TERM; end_others; with_lock down quiet' EXIT; fi
  fi
  build_programs_of "$@"
  load_images_of "$@"
  load_older_images
  if $ours && [[ $clusters -gt 1 ]]; then begin_others "$@"; fi
  local name settings=(EMPI_CLUSTER="$cluster" EMPI_DATA="${EMPI_DATA:-}")
  for name in EMPI_FULL EMPI_FROM EMPI_PATIENCE EMPI_CASES_AT_ONCE EMPI_CASE_TIMEOUT EMPI_CASE_CLAIMS EMPI_ONCE_MORE; do [[ -z ${!name:-} ]] || settings+=("$name=${!name}"); done
  in_cluster env "${settings[@]}" bash "$cases/run.sh" cluster "$@" || failed=1
  for other in "${others[@]}"; do wait "$other" || failed=1; done
  if $ours; then
    trap - EXIT
    with_lock down
  fi
  return "$failed"
}

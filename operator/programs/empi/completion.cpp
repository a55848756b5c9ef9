// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/completion.hpp"

namespace emj::cli {

namespace {

constexpr char kBash[] = R"SHELL(_empi() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
  local state=${EMPI_STATE_DIR:-${XDG_STATE_HOME:+$XDG_STATE_HOME/elastic-mpi}}
  state=${state:-$HOME/.local/state/elastic-mpi}
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "run submit queue scale top history cancel resume simulate completion" -- "$word"))
    return
  fi
  case $command in
    run)
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--out --set --workers --queue --stagger --logs --quiet --help" -- "$word"))
      else COMPREPLY=($(compgen -f -- "$word")); fi ;;
    submit)
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--out --set --beside --help" -- "$word"))
      else COMPREPLY=($(compgen -f -- "$word")); fi ;;
    scale | top | history | cancel | resume)
      COMPREPLY=($(compgen -W "$(ls "$state" 2>/dev/null)" -- "$word")) ;;
    simulate)
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "--malleable --seed --out --workers --jobs --floor --load --delay --pause --objective \
          --backfill --max-wait --help" -- "$word"))
      else COMPREPLY=($(compgen -f -- "$word")); fi ;;
    completion) COMPREPLY=($(compgen -W "bash zsh" -- "$word")) ;;
  esac
}
complete -o filenames -F _empi empi
)SHELL";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return std::string("autoload -U +X bashcompinit && bashcompinit\n") + kBash;
  return "";
}

}  // namespace emj::cli

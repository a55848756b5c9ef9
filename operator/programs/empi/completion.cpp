// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/completion.hpp"

#include <algorithm>
#include <array>

namespace emj::cli {

namespace {

using empi::options::Check;
using empi::options::Command;
using empi::options::Option;
using empi::options::Program;

constexpr char kBash[] = R"SHELL(_empi() {
  local said
  mapfile -t said < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ ${#said[@]} -gt 0 ]] || return
  if [[ ${said[-1]} == :0 ]]; then compopt -o default; fi
  COMPREPLY=("${said[@]:0:${#said[@]}-1}")
}
complete -F _empi empi kubectl-empi
)SHELL";

constexpr char kZsh[] = R"SHELL(_empi() {
  local -a said
  said=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ ${said[-1]} == :0 ]]; then _files; else compadd -- "${(@)said[1,-2]}"; fi
}
compdef _empi empi kubectl-empi
)SHELL";

constexpr char kFish[] = R"SHELL(function __empi_complete
  set -l words (commandline -opc)
  set -l said ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
  if test "$said[-1]" = ":0"
    __fish_complete_path (commandline -ct)
  else if test (count $said) -gt 1
    printf '%s\n' $said[1..-2]
  end
end
complete -c empi -f -a '(__empi_complete)'
complete -c kubectl-empi -f -a '(__empi_complete)'
)SHELL";

// What takes a job's name, and what a file's.
constexpr std::array kJobs{"job", "beside"};
constexpr std::array kFiles{"manifest", "file", "files", "kubeconfig", "runtime", "out", "queue"};

bool is_positional(const Option& option) { return !option.name.starts_with('-'); }
bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.target); }

// "-o", "--out" of "-o,--out"; what switches a flag off ("!--no-x") is none.
std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= option.name.size();) {
    const std::size_t comma = std::min(option.name.find(',', start), option.name.size());
    names.emplace_back(option.name.substr(start, comma - start));
    start = comma + 1;
  }
  return names;
}

// The longest, without dashes.
std::string plain_name(const Option& option) {
  const auto names = names_of(option);
  const std::string name = *std::ranges::max_element(names, {}, &std::string::size);
  const auto letters = name.find_first_not_of('-');
  return letters == std::string::npos ? name : name.substr(letters);
}

template <class List>
bool has(const List& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

class Line {
 public:
  Line(const Command& command, const std::vector<std::string>& words) : command_(command) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) word(words[i]);
  }

  // Whose value comes next; null: nobody's.
  const Option* next() const {
    if (expecting_) return expecting_;
    std::size_t at = 0;
    const Option* last = nullptr;
    for (const Option& option : command_.options) {
      if (!is_positional(option)) continue;
      last = &option;
      if (at++ == positionals_) return &option;
    }
    const bool list = last && std::holds_alternative<std::vector<std::string>*>(last->target);
    return list ? last : nullptr;
  }
  bool expects_value() const { return expecting_ != nullptr; }
  bool is_over() const { return over_; }  // what follows is the program's, not ours
  const GivenOptions& given() const { return given_; }

 private:
  void word(const std::string& text) {
    if (text == "=" || over_) return;  // bash takes --context=x apart
    if (expecting_) {
      given_[plain_name(*expecting_)] = text;
      expecting_ = nullptr;
    } else if (text == "--") {
      over_ = true;
    } else if (text.size() > 1 && text[0] == '-') {
      option(text);
    } else {
      ++positionals_;
    }
  }

  void option(const std::string& text) {
    const auto equals = text.find('=');
    for (const Option& candidate : command_.options) {
      if (is_positional(candidate) || !has(names_of(candidate), text.substr(0, equals))) continue;
      if (equals != std::string::npos)
        given_[plain_name(candidate)] = text.substr(equals + 1);
      else if (is_flag(candidate))
        given_[plain_name(candidate)] = "";
      else
        expecting_ = &candidate;
      return;
    }
  }

  const Command& command_;
  const Option* expecting_ = nullptr;
  std::size_t positionals_ = 0;
  bool over_ = false;
  GivenOptions given_;
};

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> all{"--help"};
  for (const Option& option : command.options)
    if (!is_positional(option) && !option.rules.hidden)
      for (const std::string& name : names_of(option))
        if (name.starts_with("--")) all.push_back(name);
  return all;
}

Candidates beginning_with(const std::string& start, const std::vector<std::string>& words) {
  Candidates result;
  std::ranges::copy_if(words, std::back_inserter(result.words),
                       [&](const std::string& word) { return word.starts_with(start); });
  std::ranges::sort(result.words);
  return result;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return "";
}

Candidates candidates(const Program& program, const std::vector<std::string>& words,
                      const std::function<std::vector<std::string>(const GivenOptions&)>& jobs) {
  if (words.empty()) return {};
  const std::string start = words.back() == "=" ? "" : words.back();
  if (words.size() == 1) {
    std::vector<std::string> names;
    for (const Command& command : program.commands) names.emplace_back(command.name);
    return beginning_with(start, names);
  }
  const auto command = std::ranges::find(program.commands, words.front(), &Command::name);
  if (command == program.commands.end()) return {};
  const Line line(*command, words);
  if (line.is_over()) return {.files = true};
  if (!line.expects_value() && start.starts_with('-')) return beginning_with(start, option_names(*command));
  const Option* option = line.next();
  if (!option) return {};
  const std::string name = plain_name(*option);
  if (has(kJobs, name)) return beginning_with(start, jobs(line.given()));
  if (has(kFiles, name)) return {.files = true};
  std::vector<std::string> choices;
  if (option->rules.check.kind == Check::Kind::OneOf)
    for (const char* word : option->rules.check.words)
      if (word) choices.emplace_back(word);
  return beginning_with(start, choices);
}

std::string candidates_text(const Candidates& candidates) {
  std::string text;
  for (const std::string& word : candidates.words) text += word + "\n";
  return text + (candidates.files ? ":0\n" : ":4\n");
}

}  // namespace emj::cli

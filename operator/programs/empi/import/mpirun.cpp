// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/import/mpirun.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace emj::cli {

namespace {

enum class Meaning { Ranks, RanksPerNode, Variable, Directory, Timeout, Mapping, Nothing, Unknown };

struct Form {
  Meaning meaning;
  int values;
};

// Options of Open MPI's mpirun, 4 and 5, by their names without dashes: one or two of these are the same to
// it.
const std::map<std::string, Form>& forms() {
  static const std::map<std::string, Form> all = [] {
    std::map<std::string, Form> forms;
    const auto add = [&](Meaning meaning, int values, std::initializer_list<const char*> names) {
      for (const char* name : names) forms[name] = {meaning, values};
    };
    add(Meaning::Ranks, 1, {"n", "np", "c"});
    add(Meaning::RanksPerNode, 1, {"N", "npernode", "ppn", "perhost"});
    add(Meaning::Variable, 1, {"x"});
    add(Meaning::Directory, 1, {"wdir", "wd"});
    add(Meaning::Timeout, 1, {"timeout"});
    add(Meaning::Mapping, 1, {"map-by"});
    add(Meaning::Nothing, 2, {"mca", "gmca", "omca", "prtemca", "pmixmca"});
    add(Meaning::Nothing, 1,
        {"H",
         "host",
         "hostfile",
         "machinefile",
         "default-hostfile",
         "bind-to",
         "rank-by",
         "prefix",
         "output",
         "display",
         "output-filename",
         "rankfile",
         "rf",
         "launch-agent",
         "runtime-options",
         "stdin",
         "path",
         "cpus-per-proc",
         "cpus-per-rank",
         "npersocket",
         "max-restarts"});
    add(Meaning::Nothing, 0,
        {"allow-run-as-root",
         "oversubscribe",
         "nooversubscribe",
         "bind-to-core",
         "bind-to-socket",
         "bind-to-none",
         "bycore",
         "bynode",
         "byslot",
         "bysocket",
         "tag-output",
         "timestamp-output",
         "report-bindings",
         "display-map",
         "display-allocation",
         "v",
         "verbose",
         "q",
         "quiet",
         "d",
         "debug-daemons",
         "leave-session-attached",
         "use-hwthread-cpus",
         "nolocal",
         "novm",
         "merge-stderr-to-stdout",
         "enable-recovery",
         "disable-recovery"});
    add(Meaning::RanksPerNode, 0, {"pernode"});
    return forms;
  }();
  return all;
}

std::optional<int> number_of(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_mpirun(const std::string& word) {
  const std::string name = last_part(word);
  return name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "prterun";
}

bool is_shell(const std::string& word) {
  const std::string name = last_part(word);
  return name == "sh" || name == "bash" || name == "dash";
}

// "ppr:2:node", also with ":PE=4" behind it; nothing where it says nothing of how many.
std::optional<int> ranks_per_node(const std::string& mapping) {
  if (!mapping.starts_with("ppr:")) return std::nullopt;
  const auto second = mapping.find(':', 4);
  if (second == std::string::npos || !mapping.substr(second + 1).starts_with("node")) return std::nullopt;
  return number_of(mapping.substr(4, second - 4));
}

class Mpirun {
 public:
  explicit Mpirun(const std::vector<std::string>& words) : words_(words) {}

  MpirunCommand read() {
    at_ = 1;
    while (result_.problem.empty() && at_ < words_.size() && words_[at_].starts_with('-') &&
           words_[at_].size() > 1)
      option();
    if (!result_.problem.empty()) return result_;
    result_.program.assign(words_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, words_.size())),
                           words_.end());
    if (result_.program.empty()) result_.problem = "it names no program";
    if (std::ranges::find(result_.program, ":") != result_.program.end())
      result_.problem = "it starts several programs (':'), and all ranks run the same one here";
    return result_;
  }

 private:
  void option() {
    const std::string written = words_[at_++];
    if (written == "--") return;
    std::string name = written.substr(written.starts_with("--") ? 2 : 1), value;
    const auto equals = name.find('=');
    const bool joined = equals != std::string::npos;
    if (joined) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto form = forms().find(name);
    if (form == forms().end()) {
      result_.problem =
          "its option " + written + " is not known here, so that it is unclear where the program begins";
      return;
    }
    std::string all = written;
    for (int i = joined ? 1 : 0; i < form->second.values; ++i) {
      if (at_ >= words_.size()) {
        result_.problem = "its option " + written + " has no value";
        return;
      }
      value = words_[at_++];
      all += " " + value;
    }
    understand(form->second, all, value);
  }

  void understand(const Form& form, const std::string& written, const std::string& value) {
    switch (form.meaning) {
      case Meaning::Ranks:
        return count(written, value, result_.ranks);
      case Meaning::RanksPerNode:
        return count(written, form.values == 0 ? "1" : value, result_.ranks_per_node);
      case Meaning::Timeout:
        return count(written, value, result_.timeout_seconds);
      case Meaning::Directory:
        result_.working_directory = value;
        return;
      case Meaning::Variable: {
        const auto equals = value.find('=');
        if (equals == std::string::npos)
          result_.exported.push_back(value);
        else
          result_.variables.emplace_back(value.substr(0, equals), value.substr(equals + 1));
        return;
      }
      case Meaning::Mapping:
        if (const auto number = ranks_per_node(value)) result_.ranks_per_node = number;
        break;
      case Meaning::Nothing:
      case Meaning::Unknown:
        break;
    }
    result_.left_out.push_back(written);
  }

  void count(const std::string& written, const std::string& value, std::optional<int>& into) {
    into = number_of(value);
    if (!into) result_.problem = "in " + written + " is no number that is known beforehand";
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  MpirunCommand result_;
};

// "-c", "-xec", "-lc": the script is the next word.
bool takes_a_script(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
}

MpirunCommand impossible(const std::string& why) {
  MpirunCommand command;
  command.problem = why;
  return command;
}

}  // namespace

std::optional<std::vector<std::string>> shell_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  std::string text = line;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      if (++i >= text.size()) return std::nullopt;
      if (text[i] == '\n') continue;
      word += text[i];
      in_word = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else if (quote == '"' && (c == '$' || c == '`'))
        return std::nullopt;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else if (std::string_view("$`;|&<>(){}*?[]~#!\n").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) return std::nullopt;
  if (in_word) words.push_back(word);
  return words;
}

MpirunCommand take_apart(const std::vector<std::string>& words) {
  if (words.empty())
    return impossible("it has no command: what the image starts by itself is not known here");
  if (is_mpirun(words.front())) return Mpirun(words).read();
  if (is_shell(words.front()) && words.size() >= 3 && takes_a_script(words[1])) {
    auto line = shell_words(words[2]);
    if (line && !line->empty() && line->front() == "exec") line->erase(line->begin());
    if (line && !line->empty() && is_mpirun(line->front())) return Mpirun(*line).read();
    return impossible(
        "it is a shell script that does more than one plain mpirun line; do the rest in an init container of "
        "the "
        "worker or in the program");
  }
  return impossible("it runs " + words.front() + ", and only a line of mpirun or mpiexec can be taken apart");
}

}  // namespace emj::cli

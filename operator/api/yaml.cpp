// SPDX-License-Identifier: Apache-2.0
#include "operator/api/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "runtime/base/json_text.hpp"

namespace emj {
namespace {

using nlohmann::json;

constexpr int kDeepest = 100;

std::optional<json> integer_from(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && std::isalpha(static_cast<unsigned char>(text[1]))) {
    const char kind = static_cast<char>(std::tolower(static_cast<unsigned char>(text[1])));
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (base == 0) return std::nullopt;
    text.erase(0, 2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;  // YAML 1.1: a leading zero means octal
    text.erase(0, 1);
  }
  if (negative) text.insert(0, "-");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<json> number_from(const std::string& text) {
  if (text.find_first_not_of("0123456789+-.eE") != std::string::npos ||
      text.find_first_of("0123456789") == std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> boolean_word(const std::string& text) {
  if (text.empty() || text.size() > 5) return std::nullopt;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // All lower, all upper or capitalised; "yEs" is a text.
  const std::string capitalised = std::string(1, static_cast<char>(std::toupper(lower[0]))) + lower.substr(1);
  std::string upper = lower;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (text != lower && text != capitalised && text != upper) return std::nullopt;
  for (const char* word : {"true", "yes", "on", "y"})
    if (lower == word) return true;
  for (const char* word : {"false", "no", "off", "n"})
    if (lower == word) return false;
  return std::nullopt;
}

class Converter {
 public:
  YamlDocument document;
  std::vector<Violation> violations;

  json convert(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kDeepest) {
      violations.push_back({path, "nested more than " + std::to_string(kDeepest) + " levels deep", "", "",
                            node.Mark().line + 1});
      return nullptr;
    }
    document.lines.emplace(path, node.Mark().line + 1);
    if (node.IsMap()) return convert_map(node, path, depth);
    if (node.IsSequence()) {
      json list = json::array();
      for (std::size_t i = 0; i < node.size(); ++i)
        list.push_back(convert(node[i], path + "[" + std::to_string(i) + "]", depth + 1));
      return list;
    }
    if (node.IsScalar()) return convert_scalar(node, path);
    return nullptr;
  }

 private:
  json convert_map(const YAML::Node& node, const std::string& path, int depth) {
    json object = json::object();
    for (const auto& entry : node) {
      const int line = entry.first.Mark().line + 1;
      if (!entry.first.IsScalar()) {
        violations.push_back({path, "a key is no plain text", "name: value", "", line});
        continue;
      }
      const std::string key = entry.first.Scalar();
      const std::string inner = path.empty() ? key : std::string(path).append(".").append(key);
      if (object.contains(key)) {
        violations.push_back({inner, "given twice", "every field once", "remove one of the two", line});
        continue;
      }
      document.lines.insert_or_assign(inner, line);  // the key's line, also when the value is below it
      object[key] = convert(entry.second, inner, depth + 1);
    }
    return object;
  }

  json convert_scalar(const YAML::Node& node, const std::string& path) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // quoted
    if (text == "~" || text == "null" || text == "Null" || text == "NULL" || text.empty()) return nullptr;
    if (const auto boolean = boolean_word(text)) {
      if (text != "true" && text != "false") document.boolean_words.emplace(path, text);
      return *boolean;
    }
    if (const char first = text[0];
        std::isdigit(static_cast<unsigned char>(first)) || first == '+' || first == '-' || first == '.') {
      if (auto number = integer_from(text)) return *number;
      if (auto number = number_from(text)) return *number;
    }
    return text;
  }
};

// The first line that YAML 1.2 does not let a file have (5.1, its characters; in UTF-8). yaml-cpp takes any.
std::optional<Violation> no_text(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r'; };
  for (int number = 1; std::getline(lines, line); ++number) {
    if (std::ranges::any_of(line, control))
      return Violation{"", "a control character", "a text file", "remove it", number};
    if (!empi::json_text::is_utf8(line))
      return Violation{"", "not UTF-8", "a text file in UTF-8", "save the file with that encoding", number};
  }
  return std::nullopt;
}

// Where each document begins.
class Beginnings final : public YAML::EventHandler {
 public:
  YAML::Mark last = YAML::Mark::null_mark();
  bool again = false;  // where the one before it began
  void OnDocumentStart(const YAML::Mark& mark) override {
    again = !last.is_null() && mark.pos <= last.pos;
    last = mark;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}
};

// Throws YAML::Exception. Where a document ends and no other can begin, as at a stray comma, yaml-cpp begins
// an empty one at that place again and again: LoadAll() takes all memory.
std::vector<YAML::Node> load_all(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginnings beginnings;
  while (parser.HandleNextDocument(beginnings))
    if (beginnings.again) throw YAML::ParserException(beginnings.last, "neither a value nor the end");
  return YAML::LoadAll(text);
}

}  // namespace

Result<YamlDocument> load_yaml(const std::string& text, const std::string& filename, const char* expected) {
  using Refusal = std::vector<Violation>;
  if (auto violation = no_text(text)) return {Refusal{std::move(*violation)}, filename};
  std::vector<YAML::Node> documents;
  try {
    documents = load_all(text);
  } catch (const YAML::Exception& error) {
    return {Refusal{{"", "not YAML: " + error.msg, "", "check indentation, colons and quotes here",
                     error.mark.is_null() ? 0 : error.mark.line + 1}},
            filename};
  }
  std::erase_if(documents, [](const YAML::Node& node) { return node.IsNull(); });
  if (documents.empty()) return {Refusal{{"", "the file is empty", expected, ""}}, filename};
  if (documents.size() > 1)
    return {Refusal{{"", "the file holds " + std::to_string(documents.size()) + " documents", expected,
                     "put each into a file of its own", documents[1].Mark().line + 1}},
            filename};
  if (!documents[0].IsMap())
    return {Refusal{{"", "the file is no mapping of fields", "apiVersion, kind, metadata and spec", "",
                     documents[0].Mark().line + 1}},
            filename};
  Converter converter;
  converter.document.object = converter.convert(documents[0], "", 0);
  if (!converter.violations.empty()) return {std::move(converter.violations), filename};
  return std::move(converter.document);
}

int line_of(const std::map<std::string, int>& lines, std::string path) {
  while (true) {
    if (const auto found = lines.find(path); found != lines.end()) return found->second;
    const auto cut = path.find_last_of(".[");
    if (cut == std::string::npos) break;
    path.resize(cut);
  }
  const auto root = lines.find("");
  return root == lines.end() ? 0 : root->second;
}

}  // namespace emj

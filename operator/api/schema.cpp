// SPDX-License-Identifier: Apache-2.0
#include "operator/api/schema.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "operator/api/crd_schemas.hpp"
#include "operator/api/reader.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::reading {
namespace {

using Type = Schema::Type;

// What the library's regular expressions take without using up the stack: tenants write these texts.
constexpr std::size_t kLongestMatched = 256;

Type type_of(const json& schema) {
  if (schema.value("x-kubernetes-int-or-string", false)) return Type::WholeOrText;
  static const std::map<std::string, Type> types = {{"object", Type::Object}, {"array", Type::List},
                                                    {"string", Type::Text},   {"integer", Type::Whole},
                                                    {"number", Type::Number}, {"boolean", Type::Boolean}};
  const auto found = types.find(schema.value("type", ""));
  return found == types.end() ? Type::Any : found->second;
}

std::unique_ptr<Schema> made_of(const json& text) {
  auto schema = std::make_unique<Schema>();
  schema->type = type_of(text);
  schema->nullable = text.value("nullable", false);
  schema->open = text.value("x-kubernetes-preserve-unknown-fields", false);
  const std::string format = text.value("format", "");
  schema->time = format == "date-time";
  if (format == "int32")
    schema->values = {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  const auto limit = [&](const char* name, std::int64_t& bound) {
    if (text.contains(name)) bound = text[name].get<std::int64_t>();
  };
  limit("minimum", schema->values.minimum);
  limit("maximum", schema->values.maximum);
  const bool list = schema->type == Type::List;
  limit(list ? "minItems" : "minLength", schema->count.minimum);
  limit(list ? "maxItems" : "maxLength", schema->count.maximum);
  if (text.contains("enum")) schema->choices = text["enum"].get<std::vector<std::string>>();
  if (text.contains("required")) schema->required = text["required"].get<std::vector<std::string>>();
  schema->pattern = text.value("pattern", "");
  if (!schema->pattern.empty()) schema->expression.emplace(schema->pattern);
  if (text.contains("properties"))
    for (const auto& [name, field] : text["properties"].items()) schema->fields[name] = made_of(field);
  for (const char* entries : {"items", "additionalProperties"})
    if (text.contains(entries)) schema->entries = made_of(text[entries]);
  return schema;
}

bool matches(const Schema& schema, const std::string& text) {
  return !schema.expression ||
         (text.size() <= kLongestMatched && std::regex_search(text, *schema.expression));
}

std::string one_of(const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  return choices.size() > 1 ? "one of " + list : list;
}

// "^Factor2$": the word itself.
std::string word_of(const std::string& pattern) {
  if (pattern.size() < 3 || pattern.front() != '^' || pattern.back() != '$') return "";
  const std::string inner = pattern.substr(1, pattern.size() - 2);
  return std::ranges::all_of(inner, [](unsigned char c) { return std::isalnum(c); }) ? inner : "";
}

std::string words_for_pattern(const Schema& schema, const std::string& otherwise) {
  if (!schema.expression) return otherwise;
  if (const std::string word = word_of(schema.pattern); !word.empty()) return word + " or " + otherwise;
  if (!matches(schema, "4Gi")) return otherwise + " like " + schema.pattern;
  return std::string("a quantity") + (matches(schema, "0") ? "" : " above 0") +
         " such as \"500m\", 2 or \"4Gi\"";
}

// What is expected, in words.
std::string words(const Schema& schema) {
  switch (schema.type) {
    case Type::Object:
      return schema.entries && schema.entries->type == Type::Text ? "an object of texts" : "an object";
    case Type::List:
      if (!schema.entries) return "a list";
      if (schema.entries->type == Type::Whole) return "a list of whole numbers";
      if (schema.entries->type == Type::Object) return "a list of objects";
      return schema.entries->type == Type::Text ? "a list of texts" : "a list";
    case Type::Text:
      if (!schema.choices.empty()) return one_of(schema.choices);
      return schema.time ? "a time such as 2026-01-31T12:00:00Z" : words_for_pattern(schema, "a text");
    case Type::Whole:
      return "a whole number" + range_text(schema.values);
    case Type::WholeOrText:
      return words_for_pattern(schema, "a whole number" + range_text(schema.values));
    case Type::Number:
      return "a number" + range_text(schema.values);
    case Type::Boolean:
      return "true or false";
    case Type::Any:
      break;
  }
  return "something else";
}

// What else there is to say about some fields of the template, by the end of their path.
std::string advice(const std::string& path) {
  static const std::array<std::pair<const char*, const char*>, 3> known{
      {{"template.spec.restartPolicy",
        "a worker that restarts in place is no member of the job any more; see spec.runPolicy.backoffLimit"},
       {"template.spec.containers", "helpers can be native sidecars in initContainers"},
       {"template.spec.containers[0].command",
        "the image's own entry point cannot be used: the agent starts the program"}}};
  for (const auto& [end, advice] : known)
    if (path.ends_with(end)) return advice;
  return "";
}

class Check {
 public:
  explicit Check(Context& context) : context_(context) {}

  void value(const Schema& schema, const json& found, const std::string& path) {
    switch (schema.type) {
      case Type::Object:
        return found.is_object() ? object(schema, found, path) : wrong(schema, found, path);
      case Type::List:
        return found.is_array() ? list(schema, found, path) : wrong(schema, found, path);
      case Type::Text:
        return found.is_string() ? text(schema, found.get_ref<const std::string&>(), path)
                                 : wrong(schema, found, path);
      case Type::Whole:
        return whole(schema, found, path);
      case Type::WholeOrText:
        if (!found.is_string()) return whole(schema, found, path);
        if (!matches(schema, found.get_ref<const std::string&>())) wrong(schema, found, path);
        return;
      case Type::Number:
        return number(schema, found, path);
      case Type::Boolean:
        if (!found.is_boolean()) wrong(schema, found, path);
        return;
      case Type::Any:
        return;
    }
  }

 private:
  void wrong(const Schema& schema, const json& found, const std::string& path) {
    std::string hint = advice(path);
    const bool plain = found.is_number() || found.is_boolean();
    if (hint.empty() && schema.type == Type::Text && schema.choices.empty() && !schema.time && plain)
      hint = "put it in quotes";
    if (hint.empty() && schema.type == Type::List && found.is_string()) hint = "write [\"one\", \"another\"]";
    context_.refuse_type(path, found, words(schema), std::move(hint));
  }

  static std::string inside(const std::string& path, const std::string& name) {
    return std::string(path).append(".").append(name);
  }

  void missing(const Schema& schema, const std::string& path) {
    context_.refuse(path, "missing", words(schema), advice(path));
  }

  void object(const Schema& schema, const json& found, const std::string& path) {
    for (const auto& [name, value] : found.items()) {
      const auto field = schema.fields.find(name);
      const Schema* const inner = field != schema.fields.end() ? field->second.get() : schema.entries.get();
      const std::string at = inside(path, name);
      if (inner) {
        if (!value.is_null()) this->value(*inner, value, at);
      } else if (context_.refuse_unknown && !schema.open) {
        context_.refuse(at, "unknown field", "", meant(schema, name, path));
      }
    }
    for (const std::string& name : schema.required) {
      const auto& field = schema.fields.at(name);
      const auto given = found.find(name);
      if (given == found.end() || (given->is_null() && !field->nullable)) missing(*field, inside(path, name));
    }
  }

  static std::string meant(const Schema& schema, const std::string& name, const std::string& path) {
    std::vector<std::string> siblings;
    for (const auto& field : schema.fields) siblings.push_back(field.first);
    if (const std::string near = nearest(name, siblings); !near.empty()) return "did you mean " + near + "?";
    if (const std::string below = schema.find(name); !below.empty())
      return "did you mean " + path + "." + below + "?";
    return did_you_mean(name, siblings);
  }

  void list(const Schema& schema, const json& found, const std::string& path) {
    if (!schema.count.has(static_cast<std::int64_t>(found.size())))
      context_.refuse(path, "has " + std::to_string(found.size()) + " entries",
                      "a number of them" + range_text(schema.count), advice(path));
    for (std::size_t i = 0; schema.entries && i < found.size(); ++i)
      value(*schema.entries, found[i], path + "[" + std::to_string(i) + "]");
  }

  void text(const Schema& schema, const std::string& found, const std::string& path) {
    if (!schema.choices.empty()) {
      if (std::ranges::find(schema.choices, found) != schema.choices.end()) return;
      std::string hint = advice(path);
      if (const std::string near = nearest(found, schema.choices); hint.empty() && !near.empty())
        hint = "did you mean " + near + "?";
      return context_.refuse(path, "is " + shown(found) + ", which is unknown or not implemented",
                             one_of(schema.choices), hint);
    }
    const auto characters =
        std::ranges::count_if(found, [](unsigned char c) { return (c & 0xC0) != 0x80; });  // of UTF-8
    if (!schema.count.has(characters))
      return context_.refuse(path, "has " + std::to_string(characters) + " characters",
                             "a number of them" + range_text(schema.count));
    const bool wrong_time = schema.time && !parse_time(found);
    if (wrong_time || !matches(schema, found)) context_.refuse_type(path, found, words(schema));
  }

  void whole(const Schema& schema, const json& found, const std::string& path) {
    // The API server takes 3.0 for an integer, too.
    const bool is_whole =
        found.is_number_integer() ||
        (found.is_number_float() && std::nearbyint(found.get<double>()) == found.get<double>() &&
         std::abs(found.get<double>()) < 1e15 && schema.type == Type::Whole);
    const bool too_large = found.is_number_unsigned() && found.get<std::uint64_t>() > INT64_MAX;
    if (!is_whole || too_large || !schema.values.has(found.get<std::int64_t>())) wrong(schema, found, path);
  }

  void number(const Schema& schema, const json& found, const std::string& path) {
    const Range& values = schema.values;
    const bool fits = found.is_number() &&
                      (values.minimum == Range{}.minimum || found.get<double>() >= double(values.minimum)) &&
                      (values.maximum == Range{}.maximum || found.get<double>() <= double(values.maximum));
    if (!fits) wrong(schema, found, path);
  }

  Context& context_;
};

}  // namespace

std::string Schema::find(const std::string& name) const {
  std::deque<std::pair<const Schema*, std::string>> queue{{this, ""}};
  for (; !queue.empty(); queue.pop_front()) {
    const auto [schema, path] = queue.front();
    if (const auto found = schema->fields.find(name); found != schema->fields.end()) return path + name;
    for (const auto& [key, field] : schema->fields) {
      const Schema* inner = field.get();
      std::string below = path + key;
      for (; inner->entries; inner = inner->entries.get()) below += inner->type == Type::List ? "[]" : "";
      queue.emplace_back(inner, below + ".");
    }
  }
  return "";
}

std::string range_text(const Range& range) {
  // Those of a type go without saying.
  const bool least = range.minimum == Range{}.minimum || range.minimum == std::numeric_limits<int>::min();
  const bool most = range.maximum == Range{}.maximum || range.maximum == std::numeric_limits<int>::max();
  const std::string low = least ? "" : std::to_string(range.minimum);
  const std::string high = most ? "" : std::to_string(range.maximum);
  if (!low.empty() && !high.empty()) return " from " + low + " to " + high;
  if (!low.empty()) return " of at least " + low;
  return high.empty() ? "" : " of at most " + high;
}

const Schema& job_schema() {
  static const std::unique_ptr<Schema> schema = made_of(empi::json_text::parse(kElasticMPIJob));
  return *schema;
}

const Schema& queue_schema() {
  static const std::unique_ptr<Schema> schema = made_of(empi::json_text::parse(kElasticQueue));
  return *schema;
}

void check(Context& context, const Schema& schema, const json& value, const std::string& path) {
  Check(context).value(schema, value, path);
}

}  // namespace emj::reading

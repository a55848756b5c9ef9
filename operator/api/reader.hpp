// SPDX-License-Identifier: Apache-2.0
// One JSON object after the other into values, as operator/api/fields.hpp describes them. Private to
// read.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "operator/api/parse.hpp"
#include "operator/api/queue_fields.hpp"
#include "operator/api/template.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::reading {

using fields::Range;
using nlohmann::json;

// The candidate that was probably meant, "" when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);
// A hint for the unknown field `name` of the object at `path`, which has the fields `siblings`; `known` lists
// those of the whole kind.
std::string did_you_mean(const std::string& path, const std::string& name,
                         const std::vector<std::string>& siblings, std::vector<FieldInfo> (*known)());
// " from 1 to 8", " of at least 1", "".
std::string range_text(const Range& range);

// What was refused so far, and where the text had it.
struct Context {
  std::vector<FieldInfo> (*known)() = known_fields;  // of the kind that is read
  bool refuse_unknown = true;                        // fields
  std::vector<Violation> violations;
  const std::map<std::string, int>* lines = nullptr;
  const std::map<std::string, std::string>* boolean_words = nullptr;

  void refuse(const std::string& path, std::string reason, std::string expected, std::string hint = {});
  void refuse_type(const std::string& path, const json& found, std::string expected);
};

// Reads one JSON object; what is left unread when it goes out of scope is an unknown field.
class Reader {
 public:
  Reader(Context& context, const json& object, std::string path)
      : context_(context), object_(object), path_(std::move(path)) {}
  Reader(const Reader&) = delete;

  ~Reader() {
    if (!context_.refuse_unknown) return;
    for (const auto& [key, value] : object_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        context_.refuse(at(key), "unknown field", "", did_you_mean(path_, key, known_, context_.known));
  }

  template <class T>
  void field(const char* name, T& value, Range range = {}) {
    if (const json* found = take(name)) read(at(name), *found, value, range);
  }

  void choice(const char* name, std::string& value, std::initializer_list<const char*> choices) {
    const json* found = take(name);
    if (!found) return;
    const std::vector<std::string> names(choices.begin(), choices.end());
    if (const auto index = pick(at(name), *found, names)) value = names[*index];
  }

  void always(const char* name, std::string& value) { field(name, value); }

  template <class E>
  void word(const char* name, E& value) {
    std::string text;
    field(name, text);
    value = E::Unknown;
    for (const auto& [candidate, known] : fields::Names<E>::all)
      if (text == known) value = candidate;
  }

  void pod(const char* name, PodTemplate& value) {
    const json* found = take(name);
    if (!found) {
      context_.refuse(at(name), "missing", "a pod template with one container named worker and its command");
      return;
    }
    for (Violation& violation : read_pod_template(*found, at(name), value, context_.refuse_unknown))
      context_.refuse(violation.field, violation.reason, violation.expected, violation.hint);
  }

  template <class F>
    requires std::is_invocable_v<F, Reader&>
  void object(const char* name, F describe_members) {
    static const json empty = json::object();
    const json* found = take(name);
    if (found && !found->is_object()) {
      context_.refuse_type(at(name), *found, "an object");
      return;
    }
    Reader inner(context_, found ? *found : empty, at(name));
    describe_members(inner);
  }
  template <class T>
  void object(const char* name, std::optional<T>& value) {
    const json* found = take(name);
    if (!found) return;
    if (!found->is_object()) {
      context_.refuse_type(at(name), *found, "an object");
      return;
    }
    Reader inner(context_, *found, at(name));
    fields::describe(inner, value.emplace());
  }
  template <class T>
  void group(const char* key, std::optional<T>& value) {
    T unused{};
    T& target = object_.contains(key) ? value.emplace() : unused;
    fields::describe(*this, target);
  }
  template <class T>
  void list(const char* name, std::vector<T>& values, Range count = {}) {
    const json* found = take(name);
    if (!found || !is_list(at(name), *found, count)) return;
    values.clear();
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string path = at(name) + "[" + std::to_string(i) + "]";
      if (!(*found)[i].is_object()) {
        context_.refuse_type(path, (*found)[i], "an object");
        continue;
      }
      Reader inner(context_, (*found)[i], path);
      fields::describe(inner, values.emplace_back());
    }
  }

 private:
  std::string at(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  // null means absent, as for the API server.
  const json* take(const char* name) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::size_t> pick(const std::string& path, const json& found,
                                  const std::vector<std::string>& names) {
    if (found.is_string())
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == found.get_ref<const std::string&>()) return i;
    std::string expected;
    for (const std::string& name : names) expected += (expected.empty() ? "" : ", ") + name;
    if (names.size() > 1) expected = "one of " + expected;
    if (!found.is_string()) {
      context_.refuse_type(path, found, expected);
    } else {
      const std::string near = nearest(found.get<std::string>(), names);
      context_.refuse(path, "is " + empi::json_text::text(found) + ", which is unknown or not implemented",
                      expected, near.empty() ? "" : "did you mean " + near + "?");
    }
    return std::nullopt;
  }

  bool is_list(const std::string& path, const json& found, Range count) {
    const auto size = static_cast<std::int64_t>(found.size());
    if (!found.is_array())
      context_.refuse_type(path, found, "a list");
    else if (size < count.minimum || size > count.maximum)
      context_.refuse(path, "has " + std::to_string(size) + " entries",
                      "a number of them" + range_text(count));
    else
      return true;
    return false;
  }

  template <class Int>
  bool read_integer(const std::string& path, const json& found, Int& value, const Range& range) {
    // The API server takes 3.0 for an integer, too.
    const bool whole =
        found.is_number_integer() ||
        (found.is_number_float() && std::nearbyint(found.get<double>()) == found.get<double>() &&
         std::abs(found.get<double>()) < 1e15);
    const bool too_large = found.is_number_unsigned() && found.get<std::uint64_t>() > INT64_MAX;
    const std::int64_t number = whole && !too_large ? found.get<std::int64_t>() : 0;
    if (!whole || too_large || number < range.minimum || number > range.maximum ||
        number < std::numeric_limits<Int>::min() || number > std::numeric_limits<Int>::max()) {
      context_.refuse_type(path, found, "a whole number" + range_text(range));
      return false;
    }
    value = static_cast<Int>(number);
    return true;
  }

  template <class T>
  void read(const std::string& path, const json& found, std::optional<T>& value, const Range& range) {
    read(path, found, value.emplace(), range);
  }
  void read(const std::string& path, const json& found, bool& value, const Range&) {
    if (found.is_boolean())
      value = found.get<bool>();
    else
      context_.refuse_type(path, found, "true or false");
  }
  void read(const std::string& path, const json& found, int& value, const Range& range) {
    read_integer(path, found, value, range);
  }
  void read(const std::string& path, const json& found, std::int64_t& value, const Range& range) {
    read_integer(path, found, value, range);
  }
  void read(const std::string& path, const json& found, double& value, const Range& range) {
    const bool fits = found.is_number() &&
                      (range.minimum == Range{}.minimum || found.get<double>() >= double(range.minimum)) &&
                      (range.maximum == Range{}.maximum || found.get<double>() <= double(range.maximum));
    if (fits)
      value = found.get<double>();
    else
      context_.refuse_type(path, found, "a number" + range_text(range));
  }
  void read(const std::string& path, const json& found, std::string& value, const Range&) {
    if (found.is_string())
      value = found.get<std::string>();
    else
      context_.refuse_type(path, found, "a text");
  }
  void read(const std::string& path, const json& found, Seconds& value, const Range& range) {
    std::int64_t seconds = 0;
    if (read_integer(path, found, seconds, range)) value = Seconds(seconds);
  }
  void read(const std::string& path, const json& found, Time& value, const Range&) {
    const auto time = found.is_string() ? parse_time(found.get_ref<const std::string&>()) : std::nullopt;
    if (time)
      value = *time;
    else
      context_.refuse_type(path, found, "a time such as 2026-01-31T12:00:00Z");
  }
  void read(const std::string& path, const json& found, IndexSet& value, const Range&) {
    const auto set = found.is_string() ? IndexSet::parse(found.get_ref<const std::string&>()) : std::nullopt;
    if (set)
      value = *set;
    else
      context_.refuse_type(path, found, "worker indices such as \"0-3,7\"");
  }
  void read(const std::string& path, const json& found, Step& value, const Range& range) {
    if (found == "Factor2")
      value.workers = 0;
    else if (found.is_string())
      context_.refuse_type(path, found, "Factor2 or a whole number" + range_text(range));
    else
      read_integer(path, found, value.workers, range);
  }
  void read(const std::string& path, const json& found, std::vector<int>& value, const Range& range) {
    if (!found.is_array()) {
      context_.refuse_type(path, found, "a list of whole numbers");
      return;
    }
    value.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      read_integer(path + "[" + std::to_string(i) + "]", found[i], value.emplace_back(), range);
  }
  // `range`: how many.
  void read(const std::string& path, const json& found, std::vector<std::string>& value, const Range& range) {
    if (!is_list(path, found, range)) return;
    value.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      read(path + "[" + std::to_string(i) + "]", found[i], value.emplace_back(), Range{});
  }
  void read(const std::string& path, const json& found, std::map<std::string, std::string>& value,
            const Range&) {
    if (!found.is_object()) {
      context_.refuse_type(path, found, "an object of texts");
      return;
    }
    value.clear();
    for (const auto& [key, text] : found.items())
      read(std::string(path).append(".").append(key), text, value[key], Range{});
  }
  // A range from 1 on: more than nothing.
  void read(const std::string& path, const json& found, Quantity& value, const Range& range) {
    const bool number = found.is_number_integer();
    const std::string text = found.is_string() ? found.get<std::string>() : empi::json_text::text(found);
    const double size = found.is_string() || number ? parse_quantity(text).value_or(-1) : -1;
    const bool positive = range.minimum > 0 && range.minimum <= range.maximum;
    if (size > 0 || (size == 0 && !positive))
      value.text = text;
    else
      context_.refuse_type(
          path, found,
          std::string("a quantity") + (positive ? " above 0" : "") + " such as \"500m\", 2 or \"4Gi\"");
  }
  template <class E>
    requires std::is_enum_v<E>
  void read(const std::string& path, const json& found, E& value, const Range&) {
    std::vector<std::string> names;
    for (const auto& entry : fields::Names<E>::all) names.emplace_back(entry.second);
    if (const auto index = pick(path, found, names)) value = fields::Names<E>::all[*index].first;
  }

  Context& context_;
  const json& object_;
  std::string path_;
  std::vector<std::string> known_;
};

}  // namespace emj::reading

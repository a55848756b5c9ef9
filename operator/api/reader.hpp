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

using nlohmann::json;

// The candidate that was probably meant, "" when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);
// A hint for the unknown field `name` of an object that has the fields `siblings`.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& siblings);
// As it is told in a message, cut where it is long.
std::string shown(const json& value);

// What was refused so far, and where the text had it.
struct Context {
  bool refuse_unknown = true;  // fields
  std::vector<Violation> violations;
  const std::map<std::string, int>* lines = nullptr;
  const std::map<std::string, std::string>* boolean_words = nullptr;

  void refuse(const std::string& path, std::string reason, std::string expected, std::string hint = {});
  void refuse_type(const std::string& path, const json& found, std::string expected, std::string hint = {});
};

// Reads one JSON object. What the schema allows it does not ask: that was checked before
// (operator/api/schema.hpp), but for the status.
class Reader {
 public:
  Reader(Context& context, const json& object, std::string path)
      : context_(context), object_(object), path_(std::move(path)) {}
  Reader(const Reader&) = delete;

  template <class T>
  void field(const char* name, T& value) {
    if (const json* found = take(name)) read(at(name), *found, value);
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
    if (const json* found = take(name)) value = pod_template(*found);
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
  void list(const char* name, std::vector<T>& values) {
    const json* found = take(name);
    if (!found || !is_list(at(name), *found)) return;
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
  const json* take(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  bool is_list(const std::string& path, const json& found) {
    if (!found.is_array()) context_.refuse_type(path, found, "a list");
    return found.is_array();
  }

  template <class Int>
  void read_integer(const std::string& path, const json& found, Int& value) {
    const bool whole =
        found.is_number_integer() ||
        (found.is_number_float() && std::nearbyint(found.get<double>()) == found.get<double>() &&
         std::abs(found.get<double>()) < 1e15);
    const bool too_large = found.is_number_unsigned() && found.get<std::uint64_t>() > INT64_MAX;
    const std::int64_t number = whole && !too_large ? found.get<std::int64_t>() : 0;
    if (!whole || too_large || number < std::numeric_limits<Int>::min() ||
        number > std::numeric_limits<Int>::max())
      context_.refuse_type(path, found, "a whole number");
    else
      value = static_cast<Int>(number);
  }

  template <class T>
  void read(const std::string& path, const json& found, std::optional<T>& value) {
    read(path, found, value.emplace());
  }
  void read(const std::string& path, const json& found, bool& value) {
    if (found.is_boolean())
      value = found.get<bool>();
    else
      context_.refuse_type(path, found, "true or false");
  }
  void read(const std::string& path, const json& found, int& value) { read_integer(path, found, value); }
  void read(const std::string& path, const json& found, std::int64_t& value) {
    read_integer(path, found, value);
  }
  void read(const std::string& path, const json& found, double& value) {
    if (found.is_number())
      value = found.get<double>();
    else
      context_.refuse_type(path, found, "a number");
  }
  void read(const std::string& path, const json& found, std::string& value) {
    if (found.is_string())
      value = found.get<std::string>();
    else
      context_.refuse_type(path, found, "a text");
  }
  void read(const std::string& path, const json& found, Seconds& value) {
    std::int64_t seconds = value.count();
    read_integer(path, found, seconds);
    value = Seconds(seconds);
  }
  void read(const std::string& path, const json& found, Time& value) {
    const auto time = found.is_string() ? parse_time(found.get_ref<const std::string&>()) : std::nullopt;
    if (time)
      value = *time;
    else
      context_.refuse_type(path, found, "a time such as 2026-01-31T12:00:00Z");
  }
  void read(const std::string& path, const json& found, IndexSet& value) {
    const auto set = found.is_string() ? IndexSet::parse(found.get_ref<const std::string&>()) : std::nullopt;
    if (set)
      value = *set;
    else
      context_.refuse_type(path, found, "worker indices such as \"0-3,7\"");
  }
  void read(const std::string& path, const json& found, Step& value) {
    if (found.is_string())
      value.workers = 0;  // Factor2
    else
      read_integer(path, found, value.workers);
  }
  void read(const std::string& path, const json& found, std::vector<int>& value) {
    if (!found.is_array()) {
      context_.refuse_type(path, found, "a list of whole numbers");
      return;
    }
    value.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      read_integer(path + "[" + std::to_string(i) + "]", found[i], value.emplace_back());
  }
  void read(const std::string& path, const json& found, std::vector<std::string>& value) {
    if (!is_list(path, found)) return;
    value.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      read(path + "[" + std::to_string(i) + "]", found[i], value.emplace_back());
  }
  void read(const std::string& path, const json& found, std::map<std::string, std::string>& value) {
    if (!found.is_object()) {
      context_.refuse_type(path, found, "an object of texts");
      return;
    }
    value.clear();
    for (const auto& [key, text] : found.items())
      read(std::string(path).append(".").append(key), text, value[key]);
  }
  void read(const std::string&, const json& found, Quantity& value) {
    value.text = found.is_string() ? found.get<std::string>() : empi::json_text::text(found);
  }
  template <class E>
    requires std::is_enum_v<E>
  void read(const std::string& path, const json& found, E& value) {
    for (const auto& [candidate, name] : fields::Names<E>::all)
      if (found == name) {
        value = candidate;
        return;
      }
    context_.refuse_type(path, found, "a word that this version knows");
  }

  Context& context_;
  const json& object_;
  std::string path_;
};

}  // namespace emj::reading

// SPDX-License-Identifier: Apache-2.0
// Values -> JSON, and the list of their fields, as their descriptions say (operator/api/field_types.hpp).
// Private to operator/api.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "operator/api/parse.hpp"
#include "operator/api/queue_fields.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::writing {

using nlohmann::json;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Absent optionals, empty texts, lists and sets are left out, as Kubernetes does.
class Writer {
 public:
  json object_ = json::object();

  template <class T>
  void field(const char* name, const T& value) {
    json written = plain(value);
    if (!written.is_null()) object_[name] = std::move(written);
  }
  void always(const char* name, const std::string& value) { object_[name] = value; }
  template <class E>
  void word(const char* name, const E& value) {
    field(name, std::string(fields::name_of(value)));
  }
  void pod(const char* name, const PodTemplate& pod) { object_[name] = empi::json_text::parse(pod.document); }

  template <class F>
    requires std::is_invocable_v<F, Writer&>
  void object(const char* name, F describe_members) {
    Writer inner;
    describe_members(inner);
    if (!inner.object_.empty()) object_[name] = std::move(inner.object_);
  }
  template <class T>
  void object(const char* name, std::optional<T>& value) {
    if (value) {
      Writer inner;
      fields::describe(inner, *value);
      object_[name] = std::move(inner.object_);
    }
  }
  template <class T>
  void group(const char*, std::optional<T>& value) {
    if (value) fields::describe(*this, *value);
  }
  template <class T>
  void list(const char* name, std::vector<T>& values) {
    if (values.empty()) return;
    json& items = object_[name] = json::array();
    for (T& value : values) {
      Writer inner;
      fields::describe(inner, value);
      items.push_back(std::move(inner.object_));
    }
  }

 private:
  template <class T>
  static json plain(const T& value) {
    if constexpr (IsOptional<T>::value) {
      return value ? plain(*value) : json();
    } else if constexpr (std::is_enum_v<T>) {
      return fields::name_of(value);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<int>> ||
                         std::is_same_v<T, std::vector<std::string>> ||
                         std::is_same_v<T, std::map<std::string, std::string>>) {
      return value.empty() ? json() : json(value);
    } else if constexpr (std::is_same_v<T, Quantity>) {
      return value.text;
    } else if constexpr (std::is_same_v<T, Seconds>) {
      return value.count();
    } else if constexpr (std::is_same_v<T, Time>) {
      return to_string(value);
    } else if constexpr (std::is_same_v<T, IndexSet>) {
      return value.empty() ? json() : json(to_string(value));
    } else if constexpr (std::is_same_v<T, Step>) {
      return value.factor2() ? json("Factor2") : json(value.workers);
    } else {
      static_assert(std::is_arithmetic_v<T>);
      return value;
    }
  }
};

class Lister {
 public:
  // `out` has room for all: add() hands out references into it.
  Lister(std::string prefix, std::vector<FieldInfo>& out) : prefix_(std::move(prefix)), out_(out) {}

  template <class T>
  void field(const char* name, const T&) {
    add(name, type_of<typename Unwrapped<T>::type>());
  }
  void always(const char* name, const std::string&) { add(name, "string"); }
  template <class E>
  void word(const char* name, const E&) {
    add(name, "string");
  }
  void pod(const char* name, const PodTemplate&) { add(name, "object"); }

  template <class F>
    requires std::is_invocable_v<F, Lister&>
  void object(const char* name, F describe_members) {
    Lister inner(add(name, "object").path + ".", out_);
    describe_members(inner);
  }
  template <class T>
  void object(const char* name, std::optional<T>&) {
    T value{};
    object(name, [&](Lister& inner) { fields::describe(inner, value); });
  }
  template <class T>
  void group(const char*, std::optional<T>&) {
    T value{};
    fields::describe(*this, value);
  }
  template <class T>
  void list(const char* name, std::vector<T>&) {
    T value{};
    FieldInfo& info = add(name, "array");
    Lister inner(info.path + "[].", out_);
    fields::describe(inner, value);
  }

 private:
  template <class T>
  struct Unwrapped {
    using type = T;
  };
  template <class T>
  struct Unwrapped<std::optional<T>> {
    using type = T;
  };

  template <class T>
  static const char* type_of() {
    if constexpr (std::is_same_v<T, bool>)
      return "boolean";
    else if constexpr (std::is_same_v<T, Step> || std::is_same_v<T, Quantity>)
      return "int-or-string";
    else if constexpr (std::is_same_v<T, std::vector<int>> || std::is_same_v<T, std::vector<std::string>>)
      return "array";
    else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>)
      return "object";
    else if constexpr (std::is_floating_point_v<T>)
      return "number";
    else if constexpr (std::is_integral_v<T> || std::is_same_v<T, Seconds>)
      return "integer";
    else
      return "string";
  }
  FieldInfo& add(const char* name, const char* type) {
    out_.push_back({prefix_ + name, type});
    return out_.back();
  }

  std::string prefix_;
  std::vector<FieldInfo>& out_;
};

template <class T>
json written(const T& value) {
  T copy = value;  // descriptions take mutable references for the reader's sake
  Writer writer;
  fields::describe(writer, copy);
  return std::move(writer.object_);
}

template <class T>
void list_fields(const char* prefix, std::vector<FieldInfo>& out) {
  T value;
  Lister lister(prefix, out);
  fields::describe(lister, value);
}

json metadata_to_json(const Metadata& metadata);

}  // namespace emj::writing

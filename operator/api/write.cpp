// SPDX-License-Identifier: Apache-2.0
// Values -> JSON, and the list of all fields.

#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "operator/api/fields.hpp"
#include "operator/api/parse.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {
namespace {

using fields::Range;
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
  void field(const char* name, const T& value, Range = {}) {
    json written = plain(value);
    if (!written.is_null()) object_[name] = std::move(written);
  }
  void choice(const char* name, const std::string& value, std::initializer_list<const char*>) {
    field(name, value);
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
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<int>>) {
      return value.empty() ? json() : json(value);
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
  Lister(std::string prefix, std::vector<FieldInfo>& out) : prefix_(std::move(prefix)), out_(out) {}

  template <class T>
  void field(const char* name, const T&, Range range = {}) {
    using Plain = typename Unwrapped<T>::type;
    FieldInfo& info = add(name, type_of<Plain>());
    if constexpr (std::is_enum_v<Plain>)
      for (const auto& entry : fields::Names<Plain>::all) info.choices.push_back(entry.second);
    if (range.minimum != Range{}.minimum) info.minimum = range.minimum;
    if (range.maximum != Range{}.maximum) info.maximum = range.maximum;
  }
  void choice(const char* name, const std::string&, std::initializer_list<const char*> choices) {
    add(name, "string").choices.assign(choices.begin(), choices.end());
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
    Lister inner(add(name, "array").path + "[].", out_);
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
    else if constexpr (std::is_same_v<T, Step>)
      return "int-or-string";
    else if constexpr (std::is_same_v<T, std::vector<int>>)
      return "array";
    else if constexpr (std::is_floating_point_v<T>)
      return "number";
    else if constexpr (std::is_integral_v<T> || std::is_same_v<T, Seconds>)
      return "integer";
    else
      return "string";
  }
  FieldInfo& add(const char* name, const char* type) {
    out_.push_back({prefix_ + name, type, {}, {}, {}});
    return out_.back();
  }

  std::string prefix_;
  std::vector<FieldInfo>& out_;
};

json metadata_to_json(const Metadata& metadata) {
  json object = {{"name", metadata.name}, {"namespace", metadata.namespace_name}};
  if (!metadata.uid.empty()) object["uid"] = metadata.uid;
  if (!metadata.resource_version.empty()) object["resourceVersion"] = metadata.resource_version;
  object["generation"] = metadata.generation;
  if (!metadata.labels.empty()) object["labels"] = metadata.labels;
  if (!metadata.annotations.empty()) object["annotations"] = metadata.annotations;
  if (metadata.creation_time) object["creationTimestamp"] = to_string(*metadata.creation_time);
  if (metadata.deletion_time) object["deletionTimestamp"] = to_string(*metadata.deletion_time);
  return object;
}

}  // namespace

json spec_to_json(const JobSpec& spec) {
  JobSpec copy = spec;  // the visitor takes mutable references for the reader's sake
  Writer writer;
  fields::describe(writer, copy);
  return std::move(writer.object_);
}

json status_to_json(const JobStatus& status) {
  JobStatus copy = status;
  Writer writer;
  fields::describe(writer, copy);
  return std::move(writer.object_);
}

json to_json(const ElasticMPIJob& job) {
  return {{"apiVersion", kApiVersion},
          {"kind", kJobKind},
          {"metadata", metadata_to_json(job.metadata)},
          {"spec", spec_to_json(job.spec)},
          {"status", status_to_json(job.status)}};
}

std::vector<FieldInfo> known_fields() {
  std::vector<FieldInfo> all;
  all.reserve(256);  // add() hands out references into it
  JobSpec spec;
  Lister of_spec("spec.", all);
  fields::describe(of_spec, spec);
  JobStatus status;
  Lister of_status("status.", all);
  fields::describe(of_status, status);
  return all;
}

std::string fingerprint(const AutoscalingSpec& autoscaling) {
  AutoscalingSpec copy = autoscaling;
  Writer writer;
  fields::describe(writer, copy);
  const std::uint64_t hash = empi::fnv1a(empi::json_text::text(writer.object_));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

const char* to_string(RuntimeMode mode) { return fields::name_of(mode); }
const char* to_string(OnTimeout choice) { return fields::name_of(choice); }
const char* to_string(AutoscalingMode mode) { return fields::name_of(mode); }
const char* to_string(PolicyName name) { return fields::name_of(name); }
const char* to_string(SearchState state) { return fields::name_of(state); }
const char* to_string(DecisionCause cause) { return fields::name_of(cause); }
const char* to_string(DecisionAction action) { return fields::name_of(action); }
const char* to_string(ResizeResult result) { return fields::name_of(result); }
const char* to_string(CleanPodPolicy policy) { return fields::name_of(policy); }
const char* to_string(NetworkPolicyMode mode) { return fields::name_of(mode); }
const char* to_string(LocalNetwork network) { return fields::name_of(network); }
const char* to_string(JobState state) { return fields::name_of(state); }
const char* to_string(ResizePhase phase) { return fields::name_of(phase); }

}  // namespace emj

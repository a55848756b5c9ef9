// SPDX-License-Identifier: Apache-2.0
#include "operator/api/envelope.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace emj::reading {

static void read_texts(Context& context, const json& object, const char* name,
                       std::map<std::string, std::string>& values) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return;
  const std::string path = std::string("metadata.") + name;
  if (!found->is_object()) return context.refuse_type(path, *found, "an object of texts");
  for (const auto& [key, value] : found->items()) {
    if (value.is_string())
      values[key] = value.get<std::string>();
    else
      context.refuse_type(std::string(path).append(".").append(key), value, "a text");
  }
}

void read_metadata(Context& context, const json& object, bool refuse_unknown, Metadata& metadata) {
  const auto found = object.find("metadata");
  if (found == object.end() || !found->is_object())
    return context.refuse("metadata.name", "missing", "a name");
  const auto text = [&](const char* name, std::string& value) {
    const auto entry = found->find(name);
    if (entry == found->end() || entry->is_null()) return;
    if (entry->is_string())
      value = entry->get<std::string>();
    else
      context.refuse_type(std::string("metadata.") + name, *entry, "a text");
  };
  const auto time = [&](const char* name, std::optional<Time>& value) {
    std::string written;
    text(name, written);
    if (written.empty()) return;
    value = parse_time(written);
    if (!value)
      context.refuse(std::string("metadata.") + name, "is " + written, "a time such as 2026-01-31T12:00:00Z");
  };
  text("name", metadata.name);
  text("namespace", metadata.namespace_name);
  text("uid", metadata.uid);
  text("resourceVersion", metadata.resource_version);
  time("creationTimestamp", metadata.creation_time);
  time("deletionTimestamp", metadata.deletion_time);
  if (const auto generation = found->find("generation");
      generation != found->end() && generation->is_number_integer())
    metadata.generation = generation->get<std::int64_t>();
  read_texts(context, *found, "labels", metadata.labels);
  read_texts(context, *found, "annotations", metadata.annotations);
  if (metadata.name.empty() && !found->contains("name")) context.refuse("metadata.name", "missing", "a name");
  if (!refuse_unknown) return;
  static const std::vector<std::string> known = {"name",
                                                 "namespace",
                                                 "labels",
                                                 "annotations",
                                                 "uid",
                                                 "resourceVersion",
                                                 "generation",
                                                 "creationTimestamp",
                                                 "managedFields",
                                                 "finalizers",
                                                 "deletionTimestamp",
                                                 "generateName",
                                                 "ownerReferences",
                                                 "deletionGracePeriodSeconds",
                                                 "selfLink"};
  for (const auto& [key, value] : found->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      context.refuse("metadata." + key, "unknown field", "", did_you_mean(key, known));
}

void read_type(Context& context, const json& object, const char* kind) {
  const auto expect = [&](const char* name, const char* wanted) {
    const auto found = object.find(name);
    if (found == object.end())
      context.refuse(name, "missing", wanted);
    else if (*found != wanted)
      context.refuse_type(name, *found, wanted);
  };
  expect("apiVersion", kApiVersion);
  expect("kind", kind);
}

const json* section_of(Context& context, const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return nullptr;
  if (found->is_object()) return &*found;
  context.refuse_type(name, *found, "an object");
  return nullptr;
}

void refuse_other_sections(Context& context, const json& object) {
  static const std::vector<std::string> known = {"apiVersion", "kind", "metadata", "spec", "status"};
  for (const auto& [key, value] : object.items())
    if (context.refuse_unknown && std::find(known.begin(), known.end(), key) == known.end())
      context.refuse(key, "unknown field", "", did_you_mean(key, known));
}

}  // namespace emj::reading

// SPDX-License-Identifier: Apache-2.0
// JSON (or YAML) -> values.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/api/parse.hpp"
#include "operator/api/reader.hpp"
#include "operator/api/yaml.hpp"

namespace emj {
namespace {

using nlohmann::json;
using reading::Context;
using reading::did_you_mean;
using reading::Reader;

void read_texts(Context& context, const json& object, const char* name,
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
    return context.refuse("metadata.name", "missing", "a name for the job");
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
  if (metadata.name.empty() && !found->contains("name"))
    context.refuse("metadata.name", "missing", "a name for the job");
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
      context.refuse("metadata." + key, "unknown field", "", did_you_mean("metadata", key, known));
}

void read_type(Context& context, const json& object) {
  const auto expect = [&](const char* name, const char* wanted) {
    const auto found = object.find(name);
    if (found == object.end())
      context.refuse(name, "missing", wanted);
    else if (*found != wanted)
      context.refuse_type(name, *found, wanted);
  };
  expect("apiVersion", kApiVersion);
  expect("kind", kJobKind);
}

// Sections in the order users write them.
ElasticMPIJob read_job(Context& context, const json& object, bool refuse_unknown) {
  ElasticMPIJob job;
  read_type(context, object);
  read_metadata(context, object, refuse_unknown, job.metadata);
  const auto section = [&](const char* name) -> const json* {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return nullptr;
    if (found->is_object()) return &*found;
    context.refuse_type(name, *found, "an object");
    return nullptr;
  };
  if (const json* spec = section("spec")) {
    {
      Reader reader(context, *spec, "spec");
      fields::describe(reader, job.spec);
    }
    const json* const worker =
        spec->contains("worker") && (*spec)["worker"].is_object() ? &(*spec)["worker"] : nullptr;
    for (const char* required : {"minReplicas", "maxReplicas"})
      if (!worker || !worker->contains(required) || (*worker)[required].is_null())
        context.refuse(std::string("spec.worker.") + required, "missing", "a number of workers");
  } else if (!object.contains("spec")) {
    context.refuse("spec", "missing", "at least spec.worker with minReplicas, maxReplicas and template");
  }
  if (const json* status = section("status")) {
    Reader reader(context, *status, "status");
    fields::describe(reader, job.status);
  }
  static const std::vector<std::string> known = {"apiVersion", "kind", "metadata", "spec", "status"};
  for (const auto& [key, value] : object.items())
    if (context.refuse_unknown && std::find(known.begin(), known.end(), key) == known.end())
      context.refuse(key, "unknown field", "", did_you_mean("", key, known));
  std::sort(job.spec.resize.allowed_replicas.begin(), job.spec.resize.allowed_replicas.end());
  return job;
}

Result<ElasticMPIJob> finish(Context& context, ElasticMPIJob job, Origin origin,
                             const std::string& filename) {
  // A field that could not be read holds its default: checking it further would only mislead.
  if (context.violations.empty()) {
    std::vector<Violation> found = validate(job, origin);
    for (Violation& violation : found)
      if (context.lines) violation.line = line_of(*context.lines, violation.field);
    if (!refuses(found)) return {std::move(job), std::move(found), filename};
    context.violations = std::move(found);
  }
  std::stable_sort(context.violations.begin(), context.violations.end(),
                   [](const Violation& a, const Violation& b) { return a.line < b.line; });
  return {std::move(context.violations), filename};
}

}  // namespace

Result<ElasticMPIJob> parse_yaml(const std::string& text, const std::string& filename) {
  Result<YamlDocument> loaded = load_yaml(text, filename);
  if (!loaded) return {loaded.violations(), filename};
  Context context;
  context.lines = &loaded.value().lines;
  context.boolean_words = &loaded.value().boolean_words;
  ElasticMPIJob job = read_job(context, loaded.value().object, true);
  return finish(context, std::move(job), Origin::Manifest, filename);
}

namespace {

Result<ElasticMPIJob> parse(const json& object, const std::string& filename, Origin origin) {
  if (!object.is_object())
    return {std::vector<Violation>{{"", "is no JSON object", "an ElasticMPIJob", ""}}, filename};
  Context context;
  context.refuse_unknown = origin == Origin::Manifest;
  ElasticMPIJob job = read_job(context, object, false);
  return finish(context, std::move(job), origin, filename);
}

}  // namespace

Result<ElasticMPIJob> parse_json(const json& object, const std::string& filename) {
  return parse(object, filename, Origin::Manifest);
}

Result<ElasticMPIJob> parse_stored(const json& object, const std::string& filename) {
  return parse(object, filename, Origin::Stored);
}

Result<JobStatus> parse_status(const json& object) {
  if (!object.is_object()) return std::vector<Violation>{{"status", "is no JSON object", "an object", ""}};
  Context context;
  JobStatus status;
  {
    Reader reader(context, object, "status");
    fields::describe(reader, status);
  }
  if (!context.violations.empty()) return std::move(context.violations);
  return status;
}

}  // namespace emj

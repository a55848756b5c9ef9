// SPDX-License-Identifier: Apache-2.0
// JSON (or YAML) -> values.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/api/envelope.hpp"
#include "operator/api/parse.hpp"
#include "operator/api/reader.hpp"
#include "operator/api/yaml.hpp"

namespace emj {
namespace {

using nlohmann::json;
using reading::Context;
using reading::Reader;

// Sections in the order users write them.
ElasticMPIJob read_job(Context& context, const json& object, bool refuse_unknown) {
  ElasticMPIJob job;
  reading::read_type(context, object, kJobKind);
  reading::read_metadata(context, object, refuse_unknown, job.metadata);
  reading::read_spec(context, object, reading::job_schema(),
                     "at least spec.worker with minReplicas, maxReplicas and template", job.spec);
  if (const json* status = reading::section_of(context, object, "status")) {
    Reader reader(context, *status, "status");
    fields::describe(reader, job.status);
  }
  reading::refuse_other_sections(context, object);
  std::sort(job.spec.resize.allowed_replicas.begin(), job.spec.resize.allowed_replicas.end());
  return job;
}

Result<ElasticMPIJob> finish(Context& context, ElasticMPIJob job, Origin origin,
                             const std::string& filename) {
  return reading::finish(
      context, std::move(job), [origin](const ElasticMPIJob& read) { return validate(read, origin); },
      filename);
}

}  // namespace

Result<ElasticMPIJob> parse_yaml(const std::string& text, const std::string& filename, Origin origin) {
  Result<YamlDocument> loaded = load_yaml(text, filename);
  if (!loaded) return {loaded.violations(), filename};
  Context context;
  context.lines = &loaded.value().lines;
  context.boolean_words = &loaded.value().boolean_words;
  ElasticMPIJob job = read_job(context, loaded.value().object, true);
  return finish(context, std::move(job), origin, filename);
}

namespace {

Result<ElasticMPIJob> parse(const json& object, const std::string& filename, Origin origin) {
  if (!object.is_object())
    return {std::vector<Violation>{{"", "is no JSON object", "an ElasticMPIJob", ""}}, filename};
  Context context;
  context.refuse_unknown = origin != Origin::Stored;
  ElasticMPIJob job = read_job(context, object, false);
  return finish(context, std::move(job), origin, filename);
}

}  // namespace

Result<ElasticMPIJob> parse_json(const json& object, const std::string& filename, Origin origin) {
  return parse(object, filename, origin);
}

Result<ElasticMPIJob> parse_stored(const json& object, const std::string& filename) {
  return parse(object, filename, Origin::Stored);
}

Result<JobStatus> parse_status(const json& object) {
  if (!object.is_object()) return std::vector<Violation>{{"status", "is no JSON object", "an object", ""}};
  Context context;
  JobStatus status;
  Reader reader(context, object, "status");
  fields::describe(reader, status);
  if (!context.violations.empty()) return std::move(context.violations);
  return status;
}

}  // namespace emj

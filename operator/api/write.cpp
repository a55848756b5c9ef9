// SPDX-License-Identifier: Apache-2.0
// Values -> JSON, and the list of all fields.

#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/api/status_fields.hpp"
#include "operator/api/writer.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {

using nlohmann::json;
using writing::written;

json writing::metadata_to_json(const Metadata& metadata) {
  json object = {{"name", metadata.name}};
  if (!metadata.namespace_name.empty()) object["namespace"] = metadata.namespace_name;
  if (!metadata.uid.empty()) object["uid"] = metadata.uid;
  if (!metadata.resource_version.empty()) object["resourceVersion"] = metadata.resource_version;
  object["generation"] = metadata.generation;
  if (!metadata.labels.empty()) object["labels"] = metadata.labels;
  if (!metadata.annotations.empty()) object["annotations"] = metadata.annotations;
  if (metadata.creation_time) object["creationTimestamp"] = to_string(*metadata.creation_time);
  if (metadata.deletion_time) object["deletionTimestamp"] = to_string(*metadata.deletion_time);
  return object;
}

json spec_to_json(const JobSpec& spec) { return written(spec); }
json status_to_json(const JobStatus& status) { return written(status); }

json to_json(const ElasticMPIJob& job) {
  return {{"apiVersion", kApiVersion},
          {"kind", kJobKind},
          {"metadata", writing::metadata_to_json(job.metadata)},
          {"spec", spec_to_json(job.spec)},
          {"status", status_to_json(job.status)}};
}

std::vector<FieldInfo> known_fields() {
  std::vector<FieldInfo> all;
  all.reserve(512);
  writing::list_fields<JobSpec>("spec.", all);
  writing::list_fields<JobStatus>("status.", all);
  return all;
}

// What an operator before this one has written must stay the same for a spec that it knew: parameters that it
// did not know count where they are not at their defaults.
std::string fingerprint(const AutoscalingSpec& autoscaling) {
  json spec = written(autoscaling);
  if (autoscaling.policy.throughput == ThroughputParameters{}) spec["policy"].erase("throughput");
  if (autoscaling.policy.deadline == DeadlineParameters{}) spec["policy"].erase("deadline");
  const std::uint64_t hash = empi::fnv1a(empi::json_text::text(spec));
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
const char* to_string(LocalEmulation emulation) { return fields::name_of(emulation); }
const char* to_string(JobState state) { return fields::name_of(state); }
const char* to_string(QueueCause cause) { return fields::name_of(cause); }
const char* to_string(ResizePhase phase) { return fields::name_of(phase); }

}  // namespace emj

// SPDX-License-Identifier: Apache-2.0
// Reading, writing and checking an ElasticMPIJob. No input or output besides the texts passed in.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/api/result.hpp"

namespace emj {

// Whence a job is.
enum class Origin {
  Manifest,
  Queued,  // the same, of a job that whoever reads it puts into a queue, where it names none
  Stored
};

// A manifest as a user writes it. Every violation carries its line. Unknown fields are refused, with the
// nearest known name. Defaults are filled in; the value has passed validate().
Result<ElasticMPIJob> parse_yaml(const std::string& text, const std::string& filename,
                                 Origin origin = Origin::Manifest);

// The same as JSON; unknown fields of metadata are ignored.
Result<ElasticMPIJob> parse_json(const nlohmann::json& object, const std::string& filename = {},
                                 Origin origin = Origin::Manifest);
// An object as the API server holds it: its schema or its last writer may be of a newer version than this
// program, so that unknown fields are ignored anywhere; and its limits may have become narrower than its
// size.
Result<ElasticMPIJob> parse_stored(const nlohmann::json& object, const std::string& filename = {});
Result<JobStatus> parse_status(const nlohmann::json& status);

nlohmann::json to_json(const ElasticMPIJob& job);  // apiVersion, kind, metadata, spec, status
nlohmann::json spec_to_json(const JobSpec& spec);
nlohmann::json status_to_json(const JobStatus& status);

// What the schema's types and ranges cannot say; warnings are marked as such.
std::vector<Violation> validate(const ElasticMPIJob& job, Origin origin = Origin::Manifest);
// Changes that an update must not make: immutable fields, and the template while the job is not suspended.
std::vector<Violation> validate_update(const ElasticMPIJob& before, const ElasticMPIJob& after);
// What can only be said when the job is made: a deadline that is over by then.
std::vector<Violation> validate_start(const ElasticMPIJob& job, Time now);
// What the Kubernetes operator refuses: spec.local, and, as it does not schedule yet, a queue.
std::vector<Violation> validate_for_cluster(const ElasticMPIJob& job);

bool refuses(const std::vector<Violation>& violations);  // at least one is no warning

// Kubernetes quantities ("100m", "1Gi", "1e3") in base units; nullopt when malformed.
std::optional<double> parse_quantity(const std::string& text);

// A short stable text that differs when spec.autoscaling differs.
std::string fingerprint(const AutoscalingSpec& autoscaling);

// A field the parser knows. Kept equal to the CRD by a test.
struct FieldInfo {
  std::string path;  // "spec.worker.replicas"; items of a list are "status.conditions[].type"
  std::string type;  // as in the CRD: object, array, string, integer, number, boolean, int-or-string

  bool operator==(const FieldInfo&) const = default;
};

// All fields below spec and status, parents before children. The inside of the pod template is not listed.
std::vector<FieldInfo> known_fields();

}  // namespace emj

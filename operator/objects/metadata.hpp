// SPDX-License-Identifier: Apache-2.0
// What all objects of a job have in common. Private to operator/objects.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operator/api/job.hpp"

namespace emj {

// Entry of the secret of certificates: whom a pod trusts (base/tls.hpp).
inline constexpr const char* kAuthoritiesFile = "authorities.pem";

nlohmann::json selector_labels(const ElasticMPIJob& job);  // of its pods
nlohmann::json common_labels(const ElasticMPIJob& job);
// The job, whose objects go with it.
nlohmann::json owner_references(const ElasticMPIJob& job);
nlohmann::json object_metadata(const ElasticMPIJob& job, const std::string& name);

}  // namespace emj

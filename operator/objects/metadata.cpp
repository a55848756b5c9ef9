// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/metadata.hpp"

#include <nlohmann/json.hpp>

namespace emj {

using nlohmann::json;

json selector_labels(const ElasticMPIJob& job) {
  return {{kLabelJob, job.metadata.name}, {kLabelRole, "worker"}};
}

json common_labels(const ElasticMPIJob& job) {
  return {{kLabelJob, job.metadata.name}, {"app.kubernetes.io/managed-by", "elastic-mpi-operator"}};
}

json owner_references(const ElasticMPIJob& job) {
  return json::array({{{"apiVersion", kApiVersion},
                       {"kind", kJobKind},
                       {"name", job.metadata.name},
                       {"uid", job.metadata.uid},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

json object_metadata(const ElasticMPIJob& job, const std::string& name) {
  return {{"name", name},
          {"namespace", job.metadata.namespace_name},
          {"labels", common_labels(job)},
          {"ownerReferences", owner_references(job)}};
}

}  // namespace emj

// SPDX-License-Identifier: Apache-2.0
// Kinds of objects, their names and their paths on the API server: the one home of both. Objects themselves
// are JSON as the server sends it.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace emj::kube {

struct Resource {
  std::string group;  // empty: the core group
  std::string version;
  std::string plural;  // as in the path
  std::string kind;
  bool namespaced = true;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

namespace resources {
inline const Resource kPods{"", "v1", "pods", "Pod"};
inline const Resource kServices{"", "v1", "services", "Service"};
inline const Resource kSecrets{"", "v1", "secrets", "Secret"};
inline const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const Resource kNodes{"", "v1", "nodes", "Node", false};
inline const Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};
inline const Resource kEvents{"events.k8s.io", "v1", "events", "Event"};
inline const Resource kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
inline const Resource kElasticQueues{"elasticmpi.io", "v1alpha1", "elasticqueues", "ElasticQueue", false};
inline const Resource kElasticMpiJobs{"elasticmpi.io", "v1alpha1", "elasticmpijobs", "ElasticMPIJob"};
}  // namespace resources

struct ObjectKey {
  std::string namespace_name;  // empty for objects without one
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};
std::string to_string(const ObjectKey& key);  // "namespace/name", or "name"

// "/api/v1/namespaces/default/pods"; an empty namespace means all namespaces.
std::string collection_path(const Resource& resource, const std::string& namespace_name);
// ".../pods/p", with "/status" when a subresource is named.
std::string object_path(const Resource& resource, const ObjectKey& key, const std::string& subresource = {});
// Why `key` cannot name one object of this kind, empty when it can. An empty name would address the whole
// collection, which must never happen to a delete.
std::string key_problem(const Resource& resource, const ObjectKey& key);

// "?a=1&b=x%2Fy"; empty without parameters.
class Query {
 public:
  Query& add(const std::string& name, const std::string& value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
std::string percent_encode(const std::string& text);

// What every object has. All answer with "" when the field is absent or no string.
// A member of an object that is text; empty when it is none or absent.
std::string text_of(const nlohmann::json& object, const char* name);
ObjectKey key_of(const nlohmann::json& object);
std::string uid_of(const nlohmann::json& object);
std::string resource_version_of(const nlohmann::json& object);
std::string controller_uid_of(
    const nlohmann::json& object);                    // uid of the ownerReference with controller: true
bool is_being_deleted(const nlohmann::json& object);  // deletionTimestamp is set: not gone yet
// Whether all that `object` would write is there. The server adds defaults and marks of its own, and keeps a
// Secret's texts in base64.
bool is_as_written(const nlohmann::json& there, const nlohmann::json& object);
// Resource versions are numbers in practice; nullopt when this one is not.
std::optional<std::uint64_t> version_number(const std::string& resource_version);

}  // namespace emj::kube

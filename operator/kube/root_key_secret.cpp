// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/root_key_secret.hpp"

#include <openssl/rand.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "operator/kube/config.hpp"
#include "operator/kube/resource.hpp"

namespace emj::manager {
namespace {

std::string new_key() {
  std::array<unsigned char, 32> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) throw std::runtime_error("OpenSSL has no random numbers");
  static constexpr char digits[] = "0123456789abcdef";
  std::string key;
  for (const unsigned char byte : bytes) (key += digits[byte >> 4]) += digits[byte & 15];
  return key;
}

std::string key_in(const nlohmann::json& secret, const std::string& name) {
  const auto entry = nlohmann::json::json_pointer(std::string("/data/") + kRootKeyEntry);
  if (!secret.contains(entry) || !secret.at(entry).is_string())
    throw std::runtime_error("Secret " + name + " has no entry '" + kRootKeyEntry +
                             "': expected keys of at least 32 characters, one per line");
  return kube::decode_base64(secret.at(entry), "Secret " + name);
}

}  // namespace

std::string ensure_root_key(kube::Client& client, const kube::ObjectKey& secret) {
  const std::string name = kube::to_string(secret);
  const auto there = client.get(kube::resources::kSecrets, secret);
  if (there) return key_in(there.value(), name);
  if (there.error().kind != kube::ApiError::Kind::NotFound)
    throw std::runtime_error("cannot read the root key: " + there.error().message);
  const auto made = client.create(kube::resources::kSecrets, secret.namespace_name,
                                  {{"apiVersion", "v1"},
                                   {"kind", "Secret"},
                                   {"metadata",
                                    {{"name", secret.name},
                                     {"namespace", secret.namespace_name},
                                     {"labels", {{"app.kubernetes.io/name", "elastic-mpi-operator"}}}}},
                                   {"type", "Opaque"},
                                   {"data", {{kRootKeyEntry, kube::encode_base64(new_key() + "\n")}}}});
  if (made) return key_in(made.value(), name);
  if (made.error().kind != kube::ApiError::Kind::AlreadyExists)
    throw std::runtime_error("cannot make the root key: " + made.error().message);
  const auto others = client.get(kube::resources::kSecrets, secret);  // another replica was faster
  if (!others) throw std::runtime_error("cannot read the root key: " + others.error().message);
  return key_in(others.value(), name);
}

}  // namespace emj::manager

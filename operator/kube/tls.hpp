// SPDX-License-Identifier: Apache-2.0
// OpenSSL at the edge: PEM texts to a context that trusts exactly the cluster's authority.
#pragma once
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "operator/kube/config.hpp"

namespace emj::kube {

// What a TLS connection needs, as PEM. Immutable: a rotation makes a new one.
struct TlsMaterial {
  std::string ca, certificate, key;
  bool operator==(const TlsMaterial&) const = default;
};

// Reads and parses; throws ConfigError naming the material that is not what it should be.
TlsMaterial load_tls(const Config& config);

// Sets trust, client certificate and the expected name (DNS name or IP address) in `context`. The handshake
// itself fails when the server's certificate does not fit; the reason is then in `*problem`, which must
// outlive the context. httplib's own verification must be off: it also trusts the system's authorities.
// Throws ConfigError.
void set_up_tls(SSL_CTX* context, const TlsMaterial& material, const std::string& expected_name,
                bool insecure_skip_verify, std::string* problem);

}  // namespace emj::kube

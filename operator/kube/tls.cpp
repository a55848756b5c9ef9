// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <vector>

namespace emj::kube {

namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

std::string last_openssl_error() {
  char text[256] = "unknown reason";
  if (const unsigned long code = ERR_peek_last_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

std::vector<Owned<X509>> certificates_of(const std::string& pem, const std::string& origin) {
  Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Owned<X509>> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    certificates.emplace_back(certificate);
  const unsigned long code = ERR_peek_last_error();
  // After the last certificate OpenSSL says that no other one starts.
  if (code != 0 && !certificates.empty() && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) ERR_clear_error();
  if (certificates.empty() || ERR_peek_last_error() != 0)
    throw ConfigError(origin + ": is no PEM certificate: " + last_openssl_error());
  return certificates;
}

Owned<EVP_PKEY> private_key(const std::string& pem, const std::string& origin) {
  Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // An empty password instead of a question on the terminal.
  Owned<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>(static_cast<const char*>(""))));
  if (!key) throw ConfigError(origin + ": is no PEM private key without password: " + last_openssl_error());
  return key;
}

int problem_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Called for every certificate of the chain; keeps the reason of the first that does not verify.
int verify(int good, X509_STORE_CTX* store) {
  if (good) return 1;
  const auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* problem = static_cast<std::string*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), problem_index()));
  if (problem && problem->empty()) {
    const int error = X509_STORE_CTX_get_error(store);
    *problem =
        std::string("the server's certificate is not accepted: ") + X509_verify_cert_error_string(error);
    if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH)
      *problem += " (it is for another name: see tls-server-name)";
    if (error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
        error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN || error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT)
      *problem += " (it was not issued by the configured certificate-authority)";
  }
  return 0;
}

}  // namespace

TlsMaterial load_tls(const Config& config) {
  TlsMaterial material;
  if (!config.ca.empty()) {
    material.ca = read_material(config.ca);
    certificates_of(material.ca, config.ca.origin);
  }
  if (!config.client_certificate.empty()) {
    material.certificate = read_material(config.client_certificate);
    material.key = read_material(config.client_key);
    const auto chain = certificates_of(material.certificate, config.client_certificate.origin);
    const auto key = private_key(material.key, config.client_key.origin);
    if (X509_check_private_key(chain.front().get(), key.get()) != 1)
      throw ConfigError(config.client_key.origin + ": does not belong to the client certificate");
  }
  return material;
}

void set_up_tls(SSL_CTX* context, const TlsMaterial& material, const std::string& expected_name,
                bool insecure_skip_verify, std::string* problem) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_ex_data(context, problem_index(), problem);
  if (!material.certificate.empty()) {
    const auto chain = certificates_of(material.certificate, "client certificate");
    const auto key = private_key(material.key, "client key");
    bool good = SSL_CTX_use_certificate(context, chain.front().get()) == 1 &&
                SSL_CTX_use_PrivateKey(context, key.get()) == 1;
    for (std::size_t i = 1; good && i < chain.size(); ++i)
      good = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
    if (!good) throw ConfigError("the client certificate cannot be used: " + last_openssl_error());
  }
  if (insecure_skip_verify) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return;
  }
  if (material.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else {
    X509_STORE* store = SSL_CTX_get_cert_store(context);
    for (const auto& certificate : certificates_of(material.ca, "certificate authority"))
      X509_STORE_add_cert(store, certificate.get());
  }
  X509_VERIFY_PARAM* expected = SSL_CTX_get0_param(context);
  unsigned char address[16];
  const bool is_address = inet_pton(AF_INET, expected_name.c_str(), address) == 1 ||
                          inet_pton(AF_INET6, expected_name.c_str(), address) == 1;
  if (is_address) {
    X509_VERIFY_PARAM_set1_ip_asc(expected, expected_name.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(expected, expected_name.c_str(), expected_name.size());
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, verify);
}

}  // namespace emj::kube

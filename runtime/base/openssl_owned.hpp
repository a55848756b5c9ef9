// SPDX-License-Identifier: Apache-2.0
// Owners of what OpenSSL makes, and its last words.
#pragma once
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace empi::tls {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// What `code` says. The errors of this thread are forgotten.
inline std::string take_error(unsigned long code) {
  char text[256] = "unknown reason";
  if (code != 0) {
    const char* reason = ERR_reason_error_string(code);
    if (reason) return ERR_clear_error(), reason;
    ERR_error_string_n(code, text, sizeof text);
  }
  ERR_clear_error();
  return text;
}
// What has come of the others.
inline std::string last_error() { return take_error(ERR_peek_last_error()); }

}  // namespace empi::tls

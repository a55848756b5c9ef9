// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/testing/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <stdexcept>

namespace emj::kube::testing {

namespace {

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using X509Ptr = std::unique_ptr<X509, Free>;

void extend(X509* certificate, X509* issuer, int name, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, name, value.c_str());
  if (!extension) throw std::runtime_error("bad extension " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509Ptr make(const std::string& subject, long serial, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
             bool authority, const std::string& names) {
  X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  X509* const signer = issuer ? issuer : certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  extend(certificate.get(), signer, NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!names.empty()) extend(certificate.get(), signer, NID_subject_alt_name, names);
  if (X509_sign(certificate.get(), issuer_key, EVP_sha256()) == 0) throw std::runtime_error("signing failed");
  return certificate;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Certificate pem_of(X509* certificate, EVP_PKEY* key) {
  std::unique_ptr<BIO, Free> first(BIO_new(BIO_s_mem())), second(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(first.get(), certificate);
  PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(first.get()), text_of(second.get())};
}

}  // namespace

struct Authority::Keys {
  Key key{EVP_EC_gen("P-256")};
  X509Ptr certificate;
};

Authority::Authority(const std::string& name) : keys_(std::make_unique<Keys>()) {
  keys_->certificate = make(name, serial_++, keys_->key.get(), nullptr, keys_->key.get(), true, {});
  own_ = pem_of(keys_->certificate.get(), keys_->key.get());
}
Authority::~Authority() = default;

Certificate Authority::issue(const std::string& subject, const std::string& names) {
  const Key key(EVP_EC_gen("P-256"));
  const X509Ptr certificate =
      make(subject, serial_++, key.get(), keys_->certificate.get(), keys_->key.get(), false, names);
  return pem_of(certificate.get(), key.get());
}

}  // namespace emj::kube::testing

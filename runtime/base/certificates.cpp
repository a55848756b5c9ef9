// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/certificates.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "runtime/base/openssl_owned.hpp"

namespace empi::tls {
namespace {

constexpr std::string_view kScheme = "empi://job/", kWorker = "/worker/", kController = "/controller";
constexpr char kOfUid[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::chrono::days kMonth{30};

// An authority ends with its job or its secret, not by a date.
constexpr char kAlways[] = "20200101000000Z", kForEver[] = "99991231235959Z";

using Digest = std::array<unsigned char, 32>;

template <class T>
T* must(T* made, const char* what) {
  if (!made) throw std::runtime_error(std::string("OpenSSL cannot make ") + what + ": " + last_error());
  return made;
}
void must(int done, const char* what) {
  if (done <= 0) throw std::runtime_error(std::string("OpenSSL cannot make ") + what + ": " + last_error());
}

Digest hmac(const std::string& secret, const std::string& text) {
  Digest digest;
  unsigned int length = 0;
  must(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length),
       "an HMAC");
  return digest;
}

struct FreeNumbers {
  void operator()(BIGNUM* number) const { BN_clear_free(number); }
  void operator()(EC_GROUP* group) const { EC_GROUP_free(group); }
  void operator()(EC_POINT* point) const { EC_POINT_free(point); }
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <class T>
using Number = std::unique_ptr<T, FreeNumbers>;

Owned<EVP_PKEY> key_of(const BIGNUM* scalar, const EC_GROUP* group) {
  const Number<EC_POINT> point(must(EC_POINT_new(group), "a point"));
  must(EC_POINT_mul(group, point.get(), scalar, nullptr, nullptr, nullptr), "a public key");
  std::array<unsigned char, 65> octets;
  if (EC_POINT_point2oct(group, point.get(), POINT_CONVERSION_UNCOMPRESSED, octets.data(), octets.size(),
                         nullptr) != octets.size())
    must(0, "a public key");
  const Number<OSSL_PARAM_BLD> builder(must(OSSL_PARAM_BLD_new(), "parameters"));
  must(OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, SN_X9_62_prime256v1, 0) &&
           OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, octets.data(),
                                            octets.size()) &&
           OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar),
       "parameters");
  const Number<OSSL_PARAM> parameters(must(OSSL_PARAM_BLD_to_param(builder.get()), "parameters"));
  const Number<EVP_PKEY_CTX> context(must(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr), "a key"));
  EVP_PKEY* key = nullptr;
  must(EVP_PKEY_fromdata_init(context.get()), "a key");
  must(EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()), "a key");
  return Owned<EVP_PKEY>(key);
}

// The scalar is a number of the secret; one of 2^32 is no scalar, and the next one is taken.
Owned<EVP_PKEY> derived_key(const std::string& secret, const std::string& purpose) {
  const Number<EC_GROUP> group(must(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), "a curve"));
  for (int attempt = 0;; ++attempt) {
    Digest digest = hmac(secret, "P-256 " + std::to_string(attempt) + " " + purpose);
    const Number<BIGNUM> scalar(must(BN_bin2bn(digest.data(), digest.size(), nullptr), "a number"));
    OPENSSL_cleanse(digest.data(), digest.size());
    if (BN_is_zero(scalar.get()) || BN_cmp(scalar.get(), EC_GROUP_get0_order(group.get())) >= 0) continue;
    BN_set_flags(scalar.get(), BN_FLG_CONSTTIME);
    return key_of(scalar.get(), group.get());
  }
}

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const Owned<BIO> bio(must(BIO_new(BIO_s_mem()), "a buffer"));
  must(PEM_write_bio_X509(bio.get(), certificate), "PEM");
  return text_in(bio.get());
}

std::string pem_of(EVP_PKEY* key) {
  const Owned<BIO> bio(must(BIO_new(BIO_s_secmem()), "a buffer"));
  must(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr), "PEM");
  return text_in(bio.get());
}

std::string fingerprint_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  must(size, "a public key");
  Digest digest;
  must(EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), nullptr, EVP_sha256(), nullptr),
       "a hash");
  OPENSSL_free(der);
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) (text += digits[digest[i] >> 4]) += digits[digest[i] & 15];
  return text;
}

// The names of two keys differ, so that no chain is tried with the wrong one.
void set_name(X509_NAME* name, const std::string& text) {
  must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0),
       "a name");
}

void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Number<X509_EXTENSION> extension(
      must(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()), "an extension"));
  must(X509_add_ext(certificate, extension.get(), -1), "an extension");
}

void sign(X509* certificate, EVP_PKEY* key) {
  const Number<EVP_MD_CTX> context(must(EVP_MD_CTX_new(), "a signature"));
  EVP_PKEY_CTX* parameters = nullptr;
  must(EVP_DigestSignInit(context.get(), &parameters, EVP_sha256(), nullptr, key), "a signature");
  unsigned int by_message = 1;
  const OSSL_PARAM nonce[] = {OSSL_PARAM_construct_uint(OSSL_SIGNATURE_PARAM_NONCE_TYPE, &by_message),
                              OSSL_PARAM_construct_end()};
  must(EVP_PKEY_CTX_set_params(parameters, nonce), "a signature of RFC 6979");
  must(X509_sign_ctx(certificate, context.get()), "a signature");
}

Owned<X509> new_certificate(EVP_PKEY* key, const std::string& name, const std::string& serial_of) {
  Owned<X509> certificate(must(X509_new(), "a certificate"));
  must(X509_set_version(certificate.get(), X509_VERSION_3), "a certificate");
  must(X509_set_pubkey(certificate.get(), key), "a certificate");
  set_name(X509_get_subject_name(certificate.get()), name);
  const Digest digest = hmac("serial", serial_of);
  std::uint64_t serial = 0;
  for (std::size_t i = 0; i < 8; ++i) serial = serial << 8 | digest[i];
  must(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1 | 1), "a serial number");
  return certificate;
}

void set_time(ASN1_TIME* field, std::chrono::sys_seconds time) {
  must(ASN1_TIME_set(field, time.time_since_epoch().count()), "a time");
}

}  // namespace

std::string to_uri(const Identity& identity) {
  std::string uri = std::string(kScheme) + identity.job;
  return identity.worker ? uri + std::string(kWorker) + std::to_string(*identity.worker)
                         : uri + std::string(kController);
}

std::optional<Identity> identity_of(const std::string& uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  const std::string_view rest = std::string_view(uri).substr(kScheme.size());
  const auto slash = rest.find('/');
  Identity identity{std::string(rest.substr(0, slash)), std::nullopt};
  if (slash == rest.npos || identity.job.empty()) return std::nullopt;
  const std::string_view who = rest.substr(slash);
  if (who == kController) return identity;
  if (!who.starts_with(kWorker)) return std::nullopt;
  const std::string_view number = who.substr(kWorker.size());
  int index = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (error != std::errc() || end != number.data() + number.size() || index < 0) return std::nullopt;
  identity.worker = index;
  return identity;
}

Validity months_around(std::chrono::system_clock::time_point now) {
  const auto days = std::chrono::floor<std::chrono::days>(now - std::chrono::days(1));
  const auto start = days - days.time_since_epoch() % kMonth;
  return {start, start + 4 * kMonth};
}

struct Authority::Impl {
  std::string secret, job, name;
  Owned<EVP_PKEY> key;
  Owned<X509> own;

  Owned<X509> certificate(const Impl& issuer) const {
    Owned<X509> made = new_certificate(key.get(), name, name + " by " + issuer.name);
    set_name(X509_get_issuer_name(made.get()), issuer.name);
    must(ASN1_TIME_set_string_X509(X509_getm_notBefore(made.get()), kAlways), "a time");
    must(ASN1_TIME_set_string_X509(X509_getm_notAfter(made.get()), kForEver), "a time");
    X509* by = &issuer == this ? made.get() : issuer.own.get();
    extend(made.get(), by, NID_basic_constraints, "critical,CA:TRUE");
    extend(made.get(), by, NID_key_usage, "critical,keyCertSign");
    extend(made.get(), by, NID_subject_key_identifier, "hash");
    sign(made.get(), issuer.key.get());
    return made;
  }
};

Authority::Authority(const std::string& secret, const std::string& job) : impl_(std::make_unique<Impl>()) {
  if (job.empty() || job.find_first_not_of(kOfUid) != job.npos)
    throw std::invalid_argument("'" + job +
                                "' is no UID of a job: expected letters, digits, '.', '_' and '-'");
  impl_->secret = secret;
  impl_->job = job;
  impl_->key = derived_key(secret, "authority of " + job);
  impl_->name = "Elastic MPI job " + fingerprint_of(impl_->key.get());
  impl_->own = impl_->certificate(*impl_);
}
Authority::~Authority() = default;
Authority::Authority(Authority&&) noexcept = default;

std::string Authority::certificate() const { return pem_of(impl_->own.get()); }

std::string Authority::certificate_by(const Authority& older) const {
  return pem_of(impl_->certificate(*older.impl_).get());
}

std::string Authority::issue(std::optional<int> worker, const Validity& validity) const {
  const std::string uri = to_uri({impl_->job, worker});
  const Owned<EVP_PKEY> key = derived_key(impl_->secret, uri);
  const std::string from = std::to_string(validity.from.time_since_epoch().count());
  const Owned<X509> made = new_certificate(
      key.get(), worker ? "worker " + std::to_string(*worker) : "controller", uri + " from " + from);
  set_name(X509_get_issuer_name(made.get()), impl_->name);
  set_time(X509_getm_notBefore(made.get()), validity.from);
  set_time(X509_getm_notAfter(made.get()), validity.to);
  X509* by = impl_->own.get();
  extend(made.get(), by, NID_basic_constraints, "critical,CA:FALSE");
  extend(made.get(), by, NID_key_usage, "critical,digitalSignature");
  extend(made.get(), by, NID_ext_key_usage, "serverAuth,clientAuth");
  extend(made.get(), by, NID_authority_key_identifier, "keyid");
  extend(made.get(), by, NID_subject_alt_name, "URI:" + uri);
  sign(made.get(), impl_->key.get());
  return pem_of(key.get()) + pem_of(made.get());
}

}  // namespace empi::tls

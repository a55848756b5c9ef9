// SPDX-License-Identifier: Apache-2.0
// Certificates for one test run: an authority and what it signs. P-256 keys, valid for a day.
#pragma once
#include <memory>
#include <string>

namespace emj::kube::testing {

struct Certificate {
  std::string certificate, key;  // PEM
};

class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();
  const std::string& pem() const { return own_.certificate; }
  // `names`: as in an extension, "DNS:api.test,IP:127.0.0.1"; empty for client certificates.
  Certificate issue(const std::string& subject, const std::string& names);

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
  Certificate own_;
  long serial_ = 1;
};

}  // namespace emj::kube::testing

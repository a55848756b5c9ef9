// SPDX-License-Identifier: Apache-2.0
// The certificates of a job, made of the operator's root keys (decision K14'): those of its workers, for
// Secrets, and our own as its controller. Nothing is stored, and nothing read: the same keys give the same
// bytes for a month.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "operator/kube/root_key.hpp"
#include "runtime/base/tls.hpp"

namespace emj::manager {

class JobCertificates {
 public:
  using Now = std::chrono::system_clock::time_point;
  // `secrets`: the newest first, which issues; certificates of the older ones are taken, and those that are
  // issued lead to them as well, so that nobody is locked out who has not got the new files yet.
  JobCertificates(const std::vector<std::string>& secrets, const std::string& job_uid);

  std::string authorities() const;                                 // that are trusted
  std::string identity(std::optional<int> worker, Now now) const;  // none: the controller

 private:
  std::vector<empi::tls::Authority> issuers_;  // the newest first
};

// What we show to the agents of jobs, for as long as somebody holds it. Thread-safe.
class ControllerCredentials {
 public:
  explicit ControllerCredentials(RootKey& root_key) : root_key_(root_key) {}

  // The same as before until keys or certificates are new. Throws std::runtime_error.
  std::shared_ptr<empi::tls::Credentials> of(const std::string& job_uid, JobCertificates::Now now);

 private:
  struct Entry {
    std::string made_from;
    std::weak_ptr<empi::tls::Credentials> credentials;
  };
  RootKey& root_key_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace emj::manager

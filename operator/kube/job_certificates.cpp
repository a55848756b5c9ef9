// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/job_certificates.hpp"

namespace emj::manager {

JobCertificates::JobCertificates(const std::vector<std::string>& secrets, const std::string& job_uid) {
  for (const std::string& secret : secrets) issuers_.emplace_back(secret, job_uid);
}

std::string JobCertificates::authorities() const {
  std::string text;
  for (const auto& issuer : issuers_) text += issuer.certificate();
  return text;
}

std::string JobCertificates::identity(std::optional<int> worker, Now now) const {
  std::string text = issuers_.front().issue(worker, empi::tls::months_around(now));
  for (std::size_t older = 1; older < issuers_.size(); ++older)
    text += issuers_.front().certificate_by(issuers_[older]);
  return text;
}

std::shared_ptr<empi::tls::Credentials> ControllerCredentials::of(const std::string& job_uid,
                                                                  JobCertificates::Now now) {
  const auto month = empi::tls::months_around(now).from.time_since_epoch().count();
  const std::string made_from = root_key_.version() + "/" + std::to_string(month);
  const std::lock_guard lock(mutex_);
  if (const auto known = entries_.find(job_uid);
      known != entries_.end() && known->second.made_from == made_from)
    if (auto credentials = known->second.credentials.lock()) return credentials;
  std::erase_if(entries_,
                [](const auto& entry) { return entry.second.credentials.expired(); });  // jobs that went
  const JobCertificates certificates(root_key_.keys(), job_uid);
  auto credentials = std::make_shared<empi::tls::Credentials>(certificates.identity(std::nullopt, now),
                                                              certificates.authorities());
  entries_[job_uid] = {made_from, credentials};
  return credentials;
}

}  // namespace emj::manager

// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/credentials.hpp"

namespace emj::kube {

namespace {

// A line break or another control character would end the header and start one of the file's own.
std::string token_of(const Material& material) {
  std::string token = read_material(material);
  const auto last = token.find_last_not_of(" \t\r\n");
  token.erase(last == std::string::npos ? 0 : last + 1);
  for (const unsigned char c : token) {
    if (c <= ' ' || c >= 127)
      throw ConfigError(material.origin + ": is not a token: it contains blanks or control characters");
  }
  if (token.empty()) throw ConfigError(material.origin + ": the token is empty");
  return token;
}

}  // namespace

Credentials::Credentials(Config config, Clock& clock, Log log)
    : config_(std::move(config)), clock_(clock), log_(std::move(log)) {
  std::lock_guard lock(mutex_);
  read();
}

void Credentials::read() {
  read_at_ = clock_.now();
  std::string token = config_.token.empty() ? std::string() : token_of(config_.token);
  TlsMaterial tls = load_tls(config_);
  snapshot_.token = std::move(token);
  if (!snapshot_.tls || *snapshot_.tls != tls)
    snapshot_.tls = std::make_shared<const TlsMaterial>(std::move(tls));
}

Credentials::Snapshot Credentials::current() {
  std::lock_guard lock(mutex_);
  if (clock_.now() - read_at_ >= kMaxAge) {
    try {
      read();
      last_problem_.clear();
    } catch (const ConfigError& error) {
      if (log_ && last_problem_ != error.what())
        log_(std::string("credentials stay as they were: ") + error.what());
      last_problem_ = error.what();
    }
  }
  return snapshot_;
}

bool Credentials::refresh(const Snapshot& used) {
  {
    std::lock_guard lock(mutex_);
    read_at_ = clock_.now() - kMaxAge;
  }
  const Snapshot fresh = current();
  return fresh.token != used.token || fresh.tls != used.tls;
}

}  // namespace emj::kube

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
  read(false);
}

bool Credentials::is_over() const { return given_ && given_->expires && *given_->expires <= clock_.wall(); }

Config Credentials::plugged(bool refused) {
  if (!given_ || is_over() || refused) given_ = run_plugin(config_.exec);
  Config config = config_;
  const auto told = [&](const std::string& text) {
    return text.empty() ? Material{} : Material{text, {}, config_.exec.origin};
  };
  config.token = told(given_->token);
  config.client_certificate = told(given_->certificate);
  config.client_key = told(given_->key);
  return config;
}

void Credentials::read(bool refused) {
  read_at_ = clock_.now();
  const Config config = config_.exec.empty() ? config_ : plugged(refused);
  std::string token = config.token.empty() ? std::string() : token_of(config.token);
  TlsMaterial tls = load_tls(config);
  snapshot_.token = std::move(token);
  if (!snapshot_.tls || *snapshot_.tls != tls)
    snapshot_.tls = std::make_shared<const TlsMaterial>(std::move(tls));
}

void Credentials::try_read(bool refused) {
  try {
    read(refused);
    last_problem_.clear();
  } catch (const ConfigError& error) {
    if (log_ && last_problem_ != error.what())
      log_(std::string("credentials stay as they were: ") + error.what());
    last_problem_ = error.what();
  }
}

Credentials::Snapshot Credentials::current() {
  std::lock_guard lock(mutex_);
  // One that cannot be renewed is tried again each minute, not for each request.
  if (clock_.now() - read_at_ >= kMaxAge || (is_over() && last_problem_.empty())) try_read(false);
  return snapshot_;
}

bool Credentials::refresh(const Snapshot& used) {
  std::lock_guard lock(mutex_);
  const auto others = [&] { return snapshot_.token != used.token || snapshot_.tls != used.tls; };
  if (!others()) try_read(true);  // else somebody has done it meanwhile: a plugin's run may cost a login
  return others();
}

}  // namespace emj::kube

// SPDX-License-Identifier: Apache-2.0
// The credentials of a Config, kept fresh: files are read again when they are older than a minute, and at
// once after a 401; a plugin is run again when what it gave expires, and after a 401. Kubelets rotate
// projected tokens and authorities rotate certificates without a word. Any thread may call anything.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "operator/kube/clock.hpp"
#include "operator/kube/config.hpp"
#include "operator/kube/tls.hpp"

namespace emj::kube {

class Credentials {
 public:
  static constexpr Seconds kMaxAge{60};

  // Throws ConfigError when something cannot be read now. Later failures keep what was read last and are
  // logged: a file may be missing for a moment while it is replaced.
  Credentials(Config config, Clock& clock, Log log);

  struct Snapshot {
    std::string token;                       // empty: none
    std::shared_ptr<const TlsMaterial> tls;  // another pointer after a rotation: connect anew
  };
  Snapshot current();
  // Reads everything now. True when the credentials are others than those of `used`: worth another try.
  bool refresh(const Snapshot& used);

  const Config& config() const { return config_; }

 private:
  void read(bool refused);  // with mutex_ held
  // What the plugin gives, of a run that is still good unless it was refused.
  Config plugged(bool refused);
  bool is_over() const;
  void try_read(bool refused);

  const Config config_;
  Clock& clock_;
  const Log log_;
  std::mutex mutex_;
  Snapshot snapshot_;
  Instant read_at_{};
  std::optional<ExecCredential> given_;  // by the plugin
  std::string last_problem_;             // logged once
};

}  // namespace emj::kube

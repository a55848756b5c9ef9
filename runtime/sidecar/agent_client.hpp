// SPDX-License-Identifier: Apache-2.0
// What the sidecar learns from the agent of its own pod: the epoch, and on the lead's pod the job's windows
// and changes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/token.hpp"
#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"

namespace empi::sidecar {

struct AgentView {
  std::int64_t epoch = 0;
  bool lead = false;
  int pods = 0;                           // members of the job
  int parked_helpers = 0;                 // the lead's
  double parked_seconds = 0;              // of this pod
  std::vector<ChangeStatus> changes;      // the lead's
  std::vector<WindowSample> job_windows;  // the lead's: those that the look before did not have in full
};

class AgentClient {
 public:
  // `token`: may be null; must outlive this.
  AgentClient(const std::string& host, int port, agent::TokenFile* token, std::string pod_uid);
  ~AgentClient();

  // One request, for the windows since the last look. Nothing when the agent does not answer within a second;
  // the first time in a row it is said on stderr.
  std::optional<AgentView> look();

 private:
  struct Http;
  std::unique_ptr<Http> http_;
  agent::TokenFile* token_;
  std::string pod_uid_;
  std::int64_t since_ = -1;  // index of the newest window that we have in full
  bool complained_ = false;
};

}  // namespace empi::sidecar

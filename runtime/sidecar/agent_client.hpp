// SPDX-License-Identifier: Apache-2.0
// What the sidecar learns from the agent of its own pod: the epoch, and on the lead's pod the job's windows
// and changes. By the agent's Unix socket; an agent of an earlier version has none, and is asked at its port.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/bounded_http.hpp"
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
  // `socket`: where the agent's is, once it runs. `token`: may be null; must outlive this.
  AgentClient(std::string socket, const std::string& host, int port, agent::TokenFile* token,
              std::string pod_uid);

  // One request, for the windows since the last look. Nothing when the agent does not answer within a second;
  // the first time in a row it is said on stderr.
  std::optional<AgentView> look();

  // The agent's own words, unread, for somebody else with its token; status 0 when it has not answered within
  // 1 s. From any thread.
  HttpAnswer report(std::int64_t since, std::int64_t fence, const std::string& token);

 private:
  // Two ways to one agent.
  struct Ways {
    BoundedHttp socket, port;
  };
  HttpAnswer ask(Ways& ways, const std::string& target, const std::string& token) const;

  const std::string socket_;
  Ways looks_, reports_;
  std::mutex reports_mutex_;
  agent::TokenFile* token_;
  std::string pod_uid_;
  std::int64_t since_ = -1;  // index of the newest window that we have in full
  bool complained_ = false;
};

}  // namespace empi::sidecar

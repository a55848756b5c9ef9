// What the sidecar learns from the agent of its own pod: the epoch, and on the lead's pod the job's windows
// and changes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"

namespace empi::sidecar {

struct AgentView {
  std::int64_t epoch = 0;
  bool lead = false;
  std::vector<ChangeStatus> changes;      // the lead's
  std::vector<WindowSample> job_windows;  // the lead's
};

// First line of a file (the job's token), read anew each time because it may be replaced. Empty when there is
// no file name or nothing to read.
std::string read_token(const std::string& file);

class AgentClient {
 public:
  AgentClient(const std::string& host, int port, std::string token_file, std::string pod_uid);
  ~AgentClient();

  // Nothing when the agent does not answer within a second; the first time in a row it is said on stderr.
  std::optional<AgentView> look();

 private:
  struct Http;
  std::unique_ptr<Http> http_;
  std::string token_file_, pod_uid_;
  bool complained_ = false;
};

}  // namespace empi::sidecar

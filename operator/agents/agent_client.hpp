// SPDX-License-Identifier: Apache-2.0
// HTTP to one agent, the lead as a rule, or to its pod's sidecar: every request has the job's token and ends
// within the timeouts. The agent is the tenant's: what it answers has a size, a deadline, and no right to be
// well-formed.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/time.hpp"
#include "runtime/base/expected.hpp"
#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"
#include "runtime/protocol/start.hpp"

namespace empi::tls {
class Credentials;
}

namespace emj {

// By which we are a job's controller; null: its agents speak plain HTTP.
using JobCredentials = std::shared_ptr<empi::tls::Credentials>;

struct AgentError {
  enum class Kind {
    Unreachable,   // no connection, or none of the answer came in time
    Unauthorized,  // 401: wrong token
    NotFound,      // 404
    Conflict,      // 409: stale fence or epoch, or not possible in this state
    BadRequest,    // 400 and other 4xx
    Server,        // other 5xx
    NoAgent,       // 504 of a sidecar: it is well, and its agent does not answer it
    Malformed      // an answer that this version cannot read
  };
  Kind kind = Kind::Unreachable;
  std::string message;  // what was asked of whom, and what came back
};
const char* to_string(AgentError::Kind kind);

template <class T>
using AgentResult = empi::Expected<T, AgentError>;
struct Accepted {};

struct AgentTimeouts {
  Millis connect{1000};
  Millis answer{2000};  // the whole of it
};
inline constexpr std::size_t kLongestAnswer = std::size_t{4} << 20;

// One connection, kept open between requests. Not for use by two threads at once.
class AgentClient {
 public:
  // `address`: host:port. `whom`: for messages.
  AgentClient(const std::string& address, const std::string& token, AgentTimeouts timeouts = {},
              const std::string& whom = "agent", const JobCredentials& credentials = nullptr);
  ~AgentClient();
  AgentClient(AgentClient&&) noexcept;
  AgentClient& operator=(AgentClient&&) noexcept;

  AgentResult<Accepted> health();
  AgentResult<empi::MembershipView> membership();
  AgentResult<std::vector<empi::ChangeStatus>> changes();
  // All three of one moment; of three moments from an agent of before there was a report. A job that runs is
  // taken: what is told is of a lead that refuses who has a fence below `fence`.
  AgentResult<empi::Report> report(std::int64_t since, std::int64_t fence);
  // The same by `read`, which is somebody else's way to the agent.
  AgentResult<empi::Report> taking(std::int64_t fence,
                                   const std::function<AgentResult<empi::Report>()>& read);
  // One question: a peer that does not know it is NotFound.
  AgentResult<empi::Report> told(std::int64_t since, std::int64_t fence);
  // Windows with an index above `since`, oldest first.
  AgentResult<std::vector<empi::WindowSample>> samples(std::int64_t since);
  AgentResult<Accepted> start(const empi::StartRequest& request);
  AgentResult<Accepted> name_lead(const empi::LeadRequest& request);
  AgentResult<Accepted> change(const empi::ChangeRequest& request);
  AgentResult<Accepted> cancel(const std::string& id, empi::Fence fence);
  AgentResult<Accepted> stop(const empi::StopRequest& request);
  AgentResult<Accepted> notice(empi::Fence fence, const std::string& id);

  const std::string& address() const;
  void use_token(const std::string& token);  // from the next request on
  // What is asked from now on is over then at the latest, however many requests it is.
  void end_by(std::chrono::steady_clock::time_point end);

 private:
  struct Connection;
  AgentResult<empi::Report> read_report(std::int64_t since, std::int64_t fence);
  AgentResult<empi::Report> report_in_parts(std::int64_t since);

  std::unique_ptr<Connection> connection_;
  bool reports_ = true, fences_ = true;  // until the agent has answered that it knows no such thing
};

}  // namespace emj

// SPDX-License-Identifier: Apache-2.0
// Runtime over the agents' HTTP interface. Remembers per job only what can be asked again: who the lead is,
// the windows read so far, the changes seen so far.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "operator/agents/agent_client.hpp"
#include "operator/agents/convert.hpp"
#include "operator/controller/runtime.hpp"

namespace emj {

struct HttpRuntimeOptions {
  AgentTimeouts timeouts;
  int agent_port = 0;          // where PodView::ip is an address without a port
  std::size_t windows = 600;   // newest windows kept per job
  std::size_t changes = 1000;  // newest changes kept per job
  int sidecar_port = 0;        // likewise, 0: there are none, and agents are asked
  int report_port = 0;         // of a sidecar whose job has certificates
  // Of a job whose agents were started with certificates; none, or null: the job is spoken to as before.
  std::function<JobCredentials(const ElasticMPIJob& job)> credentials_of = {};
};

class HttpRuntime : public Runtime {
 public:
  // The newest first, at least one. An agent that refuses it is asked with the older ones: it learns of a new
  // token later than the operator does.
  using TokensOf = std::function<std::vector<std::string>(const ElasticMPIJob& job)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  HttpRuntime(TokensOf tokens_of, HttpRuntimeOptions options, Clock clock = std::chrono::steady_clock::now);
  ~HttpRuntime() override;

  // A job whose lead costs time and does not answer is asked ever less often, at least once a minute, and at
  // once when something is new of its pods: the caller's threads are everybody's. All that a look asks of
  // members, agents and sidecars, is over within `timeouts.answer`.
  RuntimeView observe(const ElasticMPIJob& job, const std::vector<PodView>& pods) override;
  std::set<std::string> answering(const ElasticMPIJob& job, const std::vector<PodView>& newcomers) override;
  std::vector<Sample> samples(const ElasticMPIJob& job) override;
  Outcome start(const ElasticMPIJob& job, const StartJob& start) override;
  Outcome name_lead(const ElasticMPIJob& job, const NameLead& lead) override;
  Outcome change(const ElasticMPIJob& job, const SendChange& change) override;
  Outcome cancel(const ElasticMPIJob& job, const CancelChange& cancel) override;
  Outcome give_notice(const ElasticMPIJob& job, const GiveNotice& notice) override;
  Outcome stop(const ElasticMPIJob& job, const StopJob& stop) override;
  void forget(const JobKey& key) override;

  // For histories and reports: all changes seen, oldest first, and the raw windows. Safe from any thread.
  std::vector<empi::ChangeRecord> changes(const JobKey& key) const;
  std::vector<empi::WindowSample> windows(const JobKey& key) const;

 private:
  struct JobMemory;
  JobMemory& memory_of(const ElasticMPIJob& job);
  JobCredentials credentials_of(const ElasticMPIJob& job) const;
  std::string address_of(const std::string& ip) const;
  std::string sidecar_of(const std::string& ip, bool secure) const;
  RuntimeView ask_members(const ElasticMPIJob& job, JobMemory& memory, std::vector<const PodView*> candidates,
                          std::size_t most);
  void remember(JobMemory& memory, const empi::ChangeRecord& record);
  void remember(JobMemory& memory, const empi::Report& report);
  // By a connection of its own.
  Outcome ask_agent(const ElasticMPIJob& job, const std::string& ip, Clock::result_type end,
                    const std::function<AgentResult<Accepted>(AgentClient&)>& ask);
  // When what is asked from now on is to be over: by the clock of the sockets.
  Clock::result_type soon() const { return std::chrono::steady_clock::now() + options_.timeouts.answer; }
  Outcome ask_lead(const ElasticMPIJob& job, Clock::result_type end,
                   const std::function<AgentResult<Accepted>(AgentClient&)>& ask);
  // `first`: the UID of the pod that is asked before the others.
  Outcome stop_each(const ElasticMPIJob& job, const StopJob& stop, Clock::result_type end,
                    const std::string& first, std::string problem);

  TokensOf tokens_of_;
  HttpRuntimeOptions options_;
  Clock clock_;
  mutable std::mutex mutex_;  // guards the map and, in each entry, what changes() and windows() read
  std::map<JobKey, std::unique_ptr<JobMemory>> jobs_;
};

}  // namespace emj

#pragma once

// Runtime over the agents' HTTP interface. Remembers per job only what can be asked again: who the lead is,
// the windows read so far, the changes seen so far.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "operator/controller/runtime.hpp"
#include "operator/telemetry/agent_client.hpp"
#include "operator/telemetry/convert.hpp"

namespace emj {

struct HttpRuntimeOptions {
  AgentTimeouts timeouts;
  int agent_port = 0;         // where PodView::ip is an address without a port
  std::size_t windows = 600;  // newest windows kept per job
};

class HttpRuntime : public Runtime {
 public:
  using TokenOf = std::function<std::string(const ElasticMPIJob& job)>;
  HttpRuntime(TokenOf token_of, HttpRuntimeOptions options);
  ~HttpRuntime() override;

  RuntimeView observe(const ElasticMPIJob& job, const std::vector<PodView>& pods) override;
  bool answers(const ElasticMPIJob& job, const PodView& pod) override;
  std::vector<Sample> samples(const ElasticMPIJob& job) override;
  Outcome start(const ElasticMPIJob& job, const StartJob& start) override;
  Outcome change(const ElasticMPIJob& job, const SendChange& change) override;
  Outcome cancel(const ElasticMPIJob& job, const CancelChange& cancel) override;
  Outcome stop(const ElasticMPIJob& job, const StopJob& stop) override;
  void forget(const JobKey& key) override;

  // For histories and reports: all changes seen, oldest first, and the raw windows. Safe from any thread.
  std::vector<ChangeRecord> changes(const JobKey& key) const;
  std::vector<empi::WindowSample> windows(const JobKey& key) const;

 private:
  struct JobMemory;
  JobMemory& memory_of(const ElasticMPIJob& job);
  AgentClient client_for(const ElasticMPIJob& job, const std::string& address) const;
  std::string address_of(const std::string& ip) const;
  void remember(JobMemory& memory, const empi::Report& report);
  Outcome ask_lead(const ElasticMPIJob& job, const std::function<AgentResult<Accepted>(AgentClient&)>& ask);

  TokenOf token_of_;
  HttpRuntimeOptions options_;
  mutable std::mutex mutex_;  // guards the map and, in each entry, what changes() and windows() read
  std::map<JobKey, std::unique_ptr<JobMemory>> jobs_;
};

}  // namespace emj

// SPDX-License-Identifier: Apache-2.0
// The agent of one pod: its Pod (pod/pod.hpp), which decides what is to be done, and what that lives in:
// PMIx, ranks, HTTP, signals and the clock.
//
// All state belongs to the reactor's thread. PMIx upcalls, HTTP requests and sender threads post to it.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/agent/agent_edges.hpp"
#include "runtime/agent/api_answer.hpp"
#include "runtime/agent/http_api.hpp"
#include "runtime/agent/options.hpp"
#include "runtime/agent/pmix_server.hpp"
#include "runtime/agent/pod/pod.hpp"
#include "runtime/agent/reactor.hpp"
#include "runtime/base/tls.hpp"
#include "runtime/base/token.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/profile/read/window_reader.hpp"

namespace empi::agent {

class Janitor;

class Agent final : public PmixUpcalls, public ApiHandlers {
 public:
  // `shm_folder`: where Open MPI keeps the segments of our ranks. `on_end` is told the agent's exit code as
  // soon as it is certain. Throws std::runtime_error.
  Agent(Options options, std::string shm_folder, Janitor& janitor, std::function<void(int)> on_end);
  ~Agent() override;

  // Runs the pod's part of the job. Returns the exit code of the agent.
  int run();

  // Ends this pod's ranks, and all talk with other pods. False: PMIx must not be taken down, so that the
  // process has to end without its destructors.
  bool stop();

 private:
  using json = nlohmann::json;
  // For those of a rank that may still be in the pipe.
  static constexpr Millis kLastWords{500};

  // --- agent.cpp: life cycle
  void on_signal();
  void on_rank_exit(const RankExit& exit);
  void every_tick();
  void every_second();
  void cut_window();
  void count_parked();
  void write_termination_log() const;
  Millis partition_time() const {
    return std::chrono::duration_cast<Millis>(std::chrono::duration<double>(options_.partition_seconds));
  }

  // --- agent_api.cpp: PMIx upcalls and HTTP, on foreign threads
  void collective(std::string kind, std::vector<ProcId> procs, std::string blob, BlobReply reply) override;
  void direct_modex(ProcId proc, BlobReply reply) override;
  void publish(std::vector<Published> data, StatusReply reply) override;
  void lookup(std::vector<std::string> keys, bool wait, int timeout_seconds, LookupReply reply) override;
  void unpublish(std::vector<std::string> keys, ProcId owner, StatusReply reply) override;
  void client_connected(ProcId proc) override;
  void client_finalized(ProcId proc) override;
  void client_said(ProcId proc, int target, std::string text, StatusReply reply) override;
  void client_aborted(ProcId proc, int status, std::string message) override;
  void event(int code, ProcId source, std::size_t infos, std::string packed) override;
  ApiAnswer health() override;
  ApiAnswer start(const json& request) override;
  ApiAnswer put_change(const json& request) override;
  ApiAnswer get_changes() override;
  ApiAnswer cancel_change(const std::string& id, Fence fence) override;
  ApiAnswer membership() override;
  ApiAnswer samples(std::int64_t since) override;
  ApiAnswer report(std::int64_t since) override;
  ApiAnswer put_fence(const json& request) override;
  ApiAnswer put_lead(const json& request) override;
  ApiAnswer stop(const json& request) override;
  ApiAnswer notice(const json& request) override;
  ApiAnswer batch(const Batch& batch) override;
  ApiAnswer ask(std::function<ApiAnswer()> question);
  ApiAnswer give_notice(const std::string& id, Fence fence);
  MembershipView view() const;

  const Options options_;
  Reactor reactor_;
  TokenFile token_;
  const std::shared_ptr<tls::Credentials> credentials_;  // null: plain HTTP
  profile::WindowReader window_reader_;
  UniqueFd signals_;
  AgentEdges edges_;
  Pod pod_;
  std::string notice_;  // id of the last one that our ranks were given
  std::unique_ptr<HttpApi> http_, view_;
};

}  // namespace empi::agent

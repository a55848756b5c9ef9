// SPDX-License-Identifier: Apache-2.0
// The agent of one pod: puts PMIx server, launcher, peers, HTTP and the membership together, and does what
// the lead asks.
//
// All state belongs to the reactor's thread. PMIx upcalls, HTTP requests and sender threads post to it. Any
// agent can be the lead; then it has a Lead (lead/lead.hpp), which decides, and it carries out what that
// wants.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/api_answer.hpp"
#include "runtime/agent/http_api.hpp"
#include "runtime/agent/launcher.hpp"
#include "runtime/agent/lead/lead.hpp"
#include "runtime/agent/options.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/agent/peers.hpp"
#include "runtime/agent/pmix_server.hpp"
#include "runtime/agent/pod/gathered_reports.hpp"
#include "runtime/agent/rank_environment.hpp"
#include "runtime/agent/rank_link.hpp"
#include "runtime/agent/rank_pages.hpp"
#include "runtime/agent/reactor.hpp"
#include "runtime/agent/wire/inbox.hpp"
#include "runtime/agent/wire/requests.hpp"
#include "runtime/agent/wire/running_clock.hpp"
#include "runtime/base/token.hpp"
#include "runtime/profile/read/window_reader.hpp"
#include "runtime/protocol/agent_messages.hpp"
#include "runtime/protocol/namespaces.hpp"

namespace empi::agent {

class Janitor;

class Agent final : public PmixUpcalls, public ApiHandlers {
 public:
  // `shm_folder`: where Open MPI keeps the segments of our ranks. Throws std::runtime_error.
  Agent(Options options, std::string shm_folder, Janitor& janitor);
  ~Agent() override;

  // Runs the pod's part of the job. Returns the exit code of the agent.
  int run();

  // Ends this pod's ranks, and all talk with other pods. False: PMIx must not be taken down, so that the
  // process has to end without its destructors.
  bool stop();

 private:
  using json = nlohmann::json;

  // A rank of this pod.
  struct LocalRank {
    bool running = true;
    bool connected = false;  // to PMIx: an MPI program
    bool hello = false;      // linked with libelastic_mpi, and malleable
    bool finalized = false;  // its MPI_Finalize is complete
    bool parked = false;     // has helper threads that never came back
    std::optional<RankExited> end = {};
    // After MPI_Finalize a rank may return what it likes; before it, only a program without MPI may end,
    // well.
    bool may_exit(int code) const { return finalized || (code == 0 && !connected && !hello); }
  };

  // --- agent.cpp: life cycle
  void on_signal();
  void on_terminate();
  void every_tick();
  void every_second();
  void cut_window();
  Moment moment() const;
  void end(const JobOutcome& outcome);
  void write_termination_log() const;
  bool is_lead() const { return lead_ && lead_uid_ == options_.pod_uid; }
  Millis partition_time() const {
    return std::chrono::duration_cast<Millis>(std::chrono::duration<double>(options_.partition_seconds));
  }

  // --- agent_ranks.cpp: ranks of this pod
  void launch_ranks(const Namespace& ns, bool joining);
  void on_rank_exit(const RankExit& exit);
  void on_report(const RankReport& report);
  RankPlace place_of(const ProcId& proc, bool joining) const;
  std::vector<ProcId> local_ranks() const;
  int connected_ranks() const;
  std::size_t running_ranks() const;
  Beat whole_state() const;
  void count_parked();
  void drop_namespace(const std::string& name);

  // --- agent_messages.cpp: between agents
  void receive(const Message& message, const std::string& from);
  void send(const std::string& uid, const Message& message);  // to ourselves too
  void send_all(const std::vector<std::string>& uids, const Message& message);
  void deliver(const std::string& uid, const MessageBytes& message);
  void send_to_lead(const Message& message);
  void send_reports();
  // to: "" for the lead, whoever it is
  template <class Request>
  void request(Request message, const std::string& to, Requests::Done done) {
    send_request(requests_.open(std::move(message), to, std::move(done)), to);
  }
  void send_request(const Message& message, const std::string& to);
  void on_delivery_failure(const DeliveryFailure& failure);
  void add_peer(const std::string& uid, const std::string& address);
  void drop_peer(const std::string& uid);
  void dismiss_peer(const std::string& uid);
  void pod_lost(const std::string& uid, const std::string& why);
  void on_message(const Modex& m, const std::string& from);
  void on_message(const ModexOfPod& m, const std::string& from);
  void on_message(const Reply& m, const std::string& from);
  void on_message(const RankEvent& m, const std::string& from);
  void on_message(const Step& m, const std::string& from);
  void on_message(const NewLead& m, const std::string& from);
  void on_message(const HandOver& m, const std::string& from);
  void on_message(const PassedOn& m, const std::string& from);
  void on_message(const Dropped& m, const std::string& from);
  void on_message(const End& m, const std::string& from);

  // --- agent_lead.cpp: when we lead
  void make_lead();
  void follow_lead();  // does what it wants
  ApiAnswer begin_start(const StartRequest& request);
  ApiAnswer begin_change(const ChangeRequest& request);
  ApiAnswer check_controller(Fence fence);  // status 200: go on
  MembershipView view() const;
  std::vector<ChangeStatus> known_changes() const;
  std::vector<WindowSample> known_samples(std::int64_t since) const;

  // --- agent_steps.cpp: what the lead asks of every agent during start and changes
  using Answer = StepAnswer;
  void adopt_record(const JobRecord& record);
  void adopt_space(const Namespace& ns);
  void do_prepare(const Step& m);
  void do_launch(const Step& m);
  void check_place(const Namespace& ns) const;
  void do_fetch(const Step& m, const std::string& from);  // answers by itself, later
  void answer_fetch();
  void rank_ready(const RankReport& report);
  RankOrder order_of_change(RankOrder::Kind kind) const;
  void do_build(Answer& answer);
  void fetch_modex(std::function<void(const std::string& error)> done);
  void do_read_probes(Answer& answer);
  void do_arm(const Step& m, Answer& answer);
  void do_confirm(const Step& m);
  void do_interrupt(const Step& m);
  void do_give_up(const Step& m);
  void do_commit();
  void do_release();
  void end_leavers(const Step& m, int signal);
  void do_forget(const Step& m);
  void do_attach(const Step& m);  // of master-worker programs
  void do_depart();
  void order_all(const RankOrder& order);

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
  ApiAnswer stop(const json& request) override;
  ApiAnswer batch(const Batch& batch) override;
  ApiAnswer ask(std::function<ApiAnswer()> question);

  const Options options_;
  const std::string shm_folder_, library_;
  Janitor& janitor_;
  Reactor reactor_;
  TokenFile token_;

  // The job as this agent knows it.
  Fence fence_;  // while we have no Lead
  Membership membership_;
  std::string lead_uid_;
  NamespaceTable spaces_;
  ProbeMode probe_ = ProbeMode::All;
  JobOutcome outcome_;
  bool started_ = false, over_ = false;
  bool leaving_ = false;  // asked to terminate
  int terminations_ = 0;  // SIGTERMs so far

  // This pod.
  std::map<ProcId, LocalRank> ranks_;
  std::optional<ChangePlan> plan_;  // the change in hand, as an agent follows it
  ChangeState followed_ = ChangeState::Stable;
  // The step Fetch in hand: answered when the connection data is here and every rank has said that it can
  // build, or with the first error.
  struct Fetching {
    std::string from, change;
    std::uint64_t number = 0;
    std::set<ProcId> silent;  // ranks
    bool connected = false;   // the data is here
    std::string error = {};
  };
  std::optional<Fetching> fetching_;
  std::map<ProcId, std::string> modex_;  // of the other side of a change, fetched before the building starts
  int told_connected_ = 0;               // ranks, as the lead has last heard of us
  RankPages pages_;
  profile::WindowReader window_reader_;

  GatheredReports reports_;  // of our ranks, that the lead is to hear of
  bool reports_timed_ = false;
  std::optional<RankReport> queue_;  // the last word of a rank of ours that keeps the queue
  double parked_seconds_ = 0;        // processor time of helper threads that never came back

  std::optional<Lead> lead_;
  Requests requests_;
  RunningClock clock_;  // stands still while this thread does

  // Edges, in the order they are to be started; destroyed in the opposite order.
  Output output_;
  Launcher launcher_;
  int signals_ = -1;
  std::unique_ptr<RankLink> link_;
  std::unique_ptr<PmixServer> pmix_;
  std::unique_ptr<Peers> peers_;
  std::mutex inbox_mutex_;
  Inbox inbox_;
  std::unique_ptr<HttpApi> http_;
};

}  // namespace empi::agent

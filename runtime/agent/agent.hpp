// The agent of one pod: puts PMIx server, launcher, peers, HTTP and the membership together.
//
// All state belongs to the reactor's thread. PMIx upcalls, HTTP requests and sender threads post to it.
// Every agent can be the lead ("hub" below): it answers the collectives of all pods, drives changes and ends
// the job. The hub is the first member of the committed membership; a lead that leaves stays the hub until
// its change is over and then hands over.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/change_driver.hpp"
#include "runtime/agent/http_api.hpp"
#include "runtime/agent/hub.hpp"
#include "runtime/agent/launcher.hpp"
#include "runtime/agent/namespaces.hpp"
#include "runtime/agent/options.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/agent/peers.hpp"
#include "runtime/agent/pmix_server.hpp"
#include "runtime/agent/rank_environment.hpp"
#include "runtime/agent/rank_link.hpp"
#include "runtime/agent/rank_pages.hpp"
#include "runtime/agent/reactor.hpp"
#include "runtime/agent/sample_ring.hpp"
#include "runtime/agent/token.hpp"
#include "runtime/profile/window_reader.hpp"
#include "runtime/protocol/start.hpp"

namespace empi::agent {

// A rank that ends without a word, or because a peer is gone, often follows another one whose report, the
// cause, is under way.
inline constexpr Millis kPatienceForCause{300};

class Janitor;

class Agent final : public PmixUpcalls, public ApiHandlers {
 public:
  // `shm_folder`: where Open MPI keeps the segments of our ranks. Throws std::runtime_error.
  Agent(Options options, std::string shm_folder, Janitor& janitor);
  ~Agent() override;

  // Runs the pod's part of the job. Returns the exit code of the agent.
  int run();

 private:
  using json = nlohmann::json;

  // A rank of this pod.
  struct LocalRank {
    bool running = true;
    bool connected = false;  // to PMIx: an MPI program
    bool hello = false;      // linked with libelastic_mpi, and malleable
    bool finalized = false;  // its MPI_Finalize is complete
    // After MPI_Finalize a rank may return what it likes; before it, only a program without MPI may end,
    // well.
    bool may_exit(int code) const { return finalized || (code == 0 && !connected && !hello); }
  };
  // A request that waits for a reply of the hub, or of one pod.
  struct Pending {
    json message;
    std::string to;  // "" : the hub, whoever it is
    std::function<void(const json&)> done;
  };

  // --- agent.cpp: life cycle
  void on_signal();
  void on_terminate();
  void every_tick();
  void every_second();
  void cut_window();
  void end(const JobOutcome& outcome);
  void fail_job(const std::string& reason, int exit_code, std::vector<std::string> tail);  // hub
  void write_termination_log() const;
  bool is_hub() const { return hub_uid_ == options_.pod_uid; }

  // --- agent_ranks.cpp: ranks of this pod
  void launch_ranks(const Namespace& ns, bool joining);
  void on_rank_exit(const RankExit& exit);
  void on_report(const RankReport& report);
  RankPlace place_of(const ProcId& proc, bool joining) const;
  std::vector<ProcId> local_ranks() const;
  void drop_namespace(const std::string& name);

  // --- agent_messages.cpp: between agents
  using MessageHandler = void (Agent::*)(const json& message, const std::string& from);
  static const std::map<std::string, MessageHandler>& message_handlers();
  void receive(const json& message, const std::string& from);
  void send(const std::string& uid, json message);  // to ourselves too
  void send_to_hub(json message) { send(hub_uid_, std::move(message)); }
  void request(json message, std::string to, std::function<void(const json&)> done);
  void deliver(const HubReplies& replies);
  void on_delivery_failure(const DeliveryFailure& failure);
  void pod_lost(const std::string& uid, const std::string& why);
  void on_collective(const json& m, const std::string& from);
  void on_publish(const json& m, const std::string& from);
  void on_lookup(const json& m, const std::string& from);
  void on_unpublish(const json& m, const std::string& from);
  void on_modex(const json& m, const std::string& from);
  void on_modex_of_pod(const json& m, const std::string& from);
  void on_reply(const json& m, const std::string& from);
  void on_event(const json& m, const std::string& from);
  void on_beat(const json& m, const std::string& from);
  void on_remote_exit(const json& m, const std::string& from);
  void on_remote_report(const json& m, const std::string& from);
  void on_abort(const json& m, const std::string& from);
  void on_step(const json& m, const std::string& from);
  void on_step_done(const json& m, const std::string& from);
  void on_hub(const json& m, const std::string& from);
  void on_hand_over(const json& m, const std::string& from);
  void on_handed_over(const json& m, const std::string& from);
  void on_hub_known(const json& m, const std::string& from);
  void on_passed_on(const json& m, const std::string& from);
  void on_end(const json& m, const std::string& from);

  // --- agent_steps.cpp: what the hub asks of every agent during start and changes
  void do_prepare(const json& m, json& answer);
  void do_launch(const json& m, json& answer);
  void do_fetch(const std::string& from, json answer);  // answers by itself, later
  void do_build(const json& m, json& answer);
  void fetch_modex(std::function<void(const std::string& error)> done);
  void do_read_probes(const json& m, json& answer);
  void do_arm(const json& m, json& answer);
  void do_confirm(const json& m, json& answer);
  void do_interrupt(const json& m, json& answer);
  void do_give_up(const json& m, json& answer);
  void do_commit(const json& m, json& answer);
  void do_release(const json& m, json& answer);
  void do_forget(const json& m, json& answer);
  void order_all(const RankOrder& order);

  // --- agent_lead.cpp: the hub's part
  ApiAnswer begin_start(const StartRequest& request);
  ApiAnswer begin_change(const ChangeRequest& request);
  ApiAnswer check_controller(Fence fence);  // status 200: go on
  void member_failed(const std::string& what, const RankExit& exit, const std::vector<std::string>& tail);
  void rank_aborted(const ProcId& proc, const std::string& what, int status,
                    const std::vector<std::string>& tail);
  void rank_gone(const ProcId& proc, const std::string& uid, const RankExit& exit, bool may_exit,
                 const std::vector<std::string>& tail);
  void perform_steps();
  void step(const DriverStep& step);
  void change_over();
  void hand_over_to(const std::string& uid);
  void leave_as_former_lead();
  bool still_ours(const json& message, const std::string& from);
  void dismiss(const std::string& uid, const std::string& reason);
  void succeed_when_all_done();
  std::string describe(const ProcId& proc) const;
  json job_record() const;
  void adopt_record(const json& record);
  MembershipView view() const;
  std::vector<ChangeStatus> known_changes() const;

  // --- agent_tasks.cpp: master-worker programs, which survive the loss of members
  void do_attach(const json& m, json& answer);
  void do_depart(const json& m, json& answer);
  void on_queue_report(const RankReport& report);
  void on_dropped(const json& m, const std::string& from);
  bool survives(const RankExit& exit) const;
  bool survives_loss_of_pod(const std::string& uid) const;
  void rank_lost(const ProcId& proc, const std::string& uid, const std::string& what,
                 const std::vector<std::string>& tail);
  void drop_member(const std::string& uid, const std::string& what, const std::vector<std::string>& tail);
  void drop_lost_members();

  // --- agent_doors.cpp: PMIx upcalls and HTTP, on foreign threads
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
  ApiAnswer start(const json& request) override;
  ApiAnswer put_change(const json& request) override;
  ApiAnswer get_changes() override;
  ApiAnswer cancel_change(const std::string& id) override;
  ApiAnswer membership() override;
  ApiAnswer samples(std::int64_t since) override;
  ApiAnswer report(std::int64_t since, Fence fence) override;
  ApiAnswer stop(const json& request) override;
  ApiAnswer batch(json batch) override;
  ApiAnswer ask(std::function<ApiAnswer()> question);

  const Options options_;
  const std::string shm_folder_, library_;
  Janitor& janitor_;
  Reactor reactor_;
  TokenFile token_;

  // The job as this agent knows it.
  Fence fence_;
  Membership membership_;
  std::string hub_uid_;
  NamespaceTable spaces_;
  std::int64_t next_space_ = 1;  // number of the next namespace of the job
  JobOutcome outcome_;
  bool started_ = false, ending_ = false, over_ = false;
  int terminations_ = 0;  // SIGTERMs so far
  std::set<std::string> leave_requests_;

  // This pod.
  std::map<ProcId, LocalRank> ranks_;
  std::optional<ChangePlan> plan_;  // the change in hand, as an agent follows it
  ChangeState followed_ = ChangeState::Stable;
  std::map<ProcId, std::string> modex_;  // of the other side of a change, fetched before the building starts
  RankPages pages_;
  profile::WindowReader window_reader_;

  // The hub's part.
  Hub hub_;
  ChangeDriver driver_;
  std::deque<ChangeStatus> history_;
  std::set<ProcId> hello_;          // malleable ranks that are past MPI_Init
  std::set<std::string> starting_;  // agents that have not finished the present step of the start
  int start_step_ = 0;
  std::map<std::string, TimePoint> last_heard_;
  std::map<ProcId, int> exit_codes_;          // ranks of the job that have ended
  std::optional<ChangeStatus> handing_over_;  // our last change, once we are the lead no more
  std::set<std::string> not_told_;            // members that do not know the new lead yet
  std::string reported_change_;               // the last one that is in the history
  std::map<ProcId, int> parked_;              // helper threads that never came back, by rank
  std::vector<std::string> last_tail_;        // of the rank that ended last during a change
  JobOutcome first_failure_;                  // of a rank that finalised well and then returned an error code
  SampleRing samples_;
  bool tasks_ = false;  // a master-worker program
  std::optional<ProcId> queue_keeper_;
  std::string queue_address_;
  std::set<ProcId> lost_ranks_;
  std::map<std::string, std::string> lost_;  // members to be dropped when no change is in hand: uid -> why

  // Requests that wait for a reply.
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t next_request_ = 1;

  // Edges, in the order they are to be started; destroyed in the opposite order.
  Output output_;
  Launcher launcher_;
  int signals_ = -1;
  std::unique_ptr<RankLink> link_;
  std::unique_ptr<PmixServer> pmix_;
  std::unique_ptr<Peers> peers_;
  Inbox inbox_;
  std::unique_ptr<HttpApi> http_;
};

}  // namespace empi::agent

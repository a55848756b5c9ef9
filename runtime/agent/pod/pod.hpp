// SPDX-License-Identifier: Apache-2.0
// One pod of a job, as a value behind a few verbs: what other pods, the ranks here, PMIx and controllers say
// goes in, what is to be done about it comes out through PodEdges (edges.hpp). It knows no thread, socket,
// process or clock, so that simulated histories run this very class.
//
// Any pod can be the lead; then it has a Lead (lead/lead.hpp), which decides, and it does what that wants.
// Not thread-safe.
//
//   Pod pod(identity, edges);
//   pod.receive(message, from);   // of another pod, in the order of its sending
//   pod.rank_reported(report);    // and what else befalls its ranks
//   pod.tick(); pod.second();     // several times a second; once
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/api_answer.hpp"
#include "runtime/agent/lead/lead.hpp"
#include "runtime/agent/pod/edges.hpp"
#include "runtime/agent/pod/fetch.hpp"
#include "runtime/agent/pod/gathered_reports.hpp"
#include "runtime/agent/pod/local_ranks.hpp"
#include "runtime/agent/wire/outbox.hpp"
#include "runtime/agent/wire/requests.hpp"

namespace empi::agent {

struct PodIdentity {
  std::string uid, name, job;
  int slots = 1;  // ranks that it was made for
  bool malleable = true;
  RunningTime partition{std::chrono::seconds(10)};  // a pod that is silent for longer is lost
  bool restartable = false;                         // rigid, and told to end when it is to go on elsewhere
};

class Pod {
 public:
  Pod(PodIdentity identity, PodEdges& edges) : self_(std::move(identity)), edges_(edges) {}
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;

  // --- Controllers (runtime/agent/http_api.hpp has the words).
  ApiAnswer start(const StartRequest& request);
  ApiAnswer begin_change(const ChangeRequest& request);
  ApiAnswer cancel_change(const std::string& id, Fence fence);
  ApiAnswer check_controller(Fence fence);          // status 200: go on
  ApiAnswer name_lead(const LeadRequest& request);  // this pod, or it leads already
  ApiAnswer stop(const StopRequest& request);
  MembershipView view() const;
  std::vector<ChangeStatus> known_changes() const;
  std::vector<WindowSample> known_samples(std::int64_t since) const;

  // --- Time, and other pods.
  void tick();
  void second();
  void sampled(const WindowSample& sample);
  void terminate();  // the pod was asked to go
  // Whatever comes; what it cannot act on it tells the log.
  void receive(const Message& message, const std::string& from);
  // It repeats what has come before: our answer was lost, and it is there.
  void heard(const std::string& from);
  // Nothing can be delivered to a pod, and never could (not `reached`).
  void unreachable(const std::string& uid, Standing standing, bool reached, const std::string& why);
  void reached(const std::string& uid);  // again, after it was silent
  void end(const JobOutcome& outcome);   // of this pod, in any way

  // --- Ranks of this pod.
  void rank_connected(const ProcId& proc);  // to PMIx
  void rank_left_pmix(const ProcId& proc);
  void rank_reported(const RankReport& report);
  // It has ended, and `tail` are its last words.
  void rank_ended(const ProcId& proc, int code, int signal, std::vector<std::string> tail);
  void rank_aborted(const RankAborted& abort) { send_to_lead(abort); }
  void rank_raised(const RankEvent& event) { on_message(event, self_.uid); }
  void parked(double seconds) { parked_seconds_ = std::max(parked_seconds_, seconds); }

  // --- Requests of PMIx. to: "" for the lead, whoever it is.
  template <class Request>
  void request(Request message, const std::string& to, Requests::Done done) {
    send_request(requests_.open(std::move(message), to, std::move(done)), to);
  }
  void connection_data(const ProcId& proc, const PodEdges::Blob& reply);  // of any rank of the job

  // --- What it knows.
  const std::string& uid() const { return self_.uid; }
  bool started() const { return started_; }
  bool over() const { return over_; }
  const JobOutcome& outcome() const { return outcome_; }
  bool is_lead() const { return lead_ && lead_uid_ == self_.uid; }
  const Lead& lead() const { return *lead_; }
  const Membership& membership() const { return membership_; }
  const std::optional<ChangePlan>& plan() const { return plan_; }
  const LocalRanks& ranks() const { return ranks_; }

 private:
  // --- pod.cpp
  void make_lead();
  void follow_lead();  // does what it wants
  void adopt(const JobRecord& record);
  void adopt(const Namespace& space);
  void send_reports();
  void pod_lost(const std::string& uid, const std::string& why);

  // --- pod_messages.cpp
  void follow(const std::string& lead);
  void send(const std::string& uid, const Message& message);  // ourselves too
  void send_all(const std::vector<std::string>& uids, const Message& message);
  bool reaches(const std::string& uid);
  void send_to_lead(const Message& message);
  void send_request(const Message& message, const std::string& to);
  void drop(const std::string& uid);
  void dismiss(const std::string& uid);
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

  // --- pod_succession.cpp: where the lead is lost (R20)
  bool waits_for_word(const std::string& uid) const;
  RunningTime silence_of_lead() const;
  void bound_silence_of_lead();
  bool was_dropped(const LeadRequest& request, const std::string& uid) const;
  std::optional<ApiAnswer> refusal_to_lead(const LeadRequest& request) const;
  void reach_all();
  PodKnowledge knowledge() const;
  void keep_for_next_lead(const RankReport& report);
  void forget_change();
  bool is_ours(const std::string& uid) const;
  void refuse_to_follow(const std::string& uid);
  void on_message(const Beat& m, const std::string& from);
  void on_message(const TakeOver& m, const std::string& from);

  // --- pod_steps.cpp: what the lead asks of every pod during start and changes
  void check_place(const Namespace& space) const;
  void do_step(const Step& m, StepAnswer& answer);
  void do_prepare(const Step& m);
  void do_launch(const Step& m);
  void do_fetch(const Step& m, const std::string& from);  // answers by itself, later
  void answer_fetch();
  void rank_ready(const RankReport& report);
  void fetch_of_other_side(Fetch::Answered done);
  void fetch_connection_data(std::vector<Member> pods, std::size_t first, Fetch::Answered done);
  void rank_recoverable(const RankReport& report);
  void do_read_probes(StepAnswer& answer);
  void do_build(StepAnswer& answer);
  void do_interrupt(const Step& m);
  void do_give_up(const Step& m);
  void do_commit();
  void do_release();
  void end_leavers(const Step& m, int signal);
  void do_forget(const Step& m);
  void do_attach(const Step& m);  // of master-worker programs
  void do_depart();
  RankOrder plain_order(RankOrder::Kind kind) const;      // of the change in hand
  RankOrder order_of_change(RankOrder::Kind kind) const;  // and who takes part in it
  void order_all(const RankOrder& order);

  const PodIdentity self_;
  PodEdges& edges_;

  // The job as this pod knows it.
  Fence fence_;  // while we have no Lead
  Membership membership_;
  std::string lead_uid_;
  NamespaceTable spaces_;
  ProbeMode probe_ = ProbeMode::All;
  JobOutcome outcome_;
  bool started_ = false, over_ = false;
  bool leaving_ = false;  // asked to terminate
  int terminations_ = 0;  // times

  LocalRanks ranks_;
  GatheredReports reports_;  // of our ranks, that the lead is to hear of
  bool reports_timed_ = false;
  int told_connected_ = 0;     // ranks, as the lead has last heard of us
  double parked_seconds_ = 0;  // processor time of helper threads that never came back

  std::optional<ChangePlan> plan_;  // the change in hand, as a pod follows it
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
  std::map<ProcId, std::string> connection_data_;  // of other pods' ranks, as far as it was needed
  std::vector<RankReport> recoverable_;            // until the data of all pods is here

  // What a next lead is to know if this one is lost.
  std::chrono::seconds leaver_grace_ = kLeaverGrace;
  std::optional<LeadNews> news_;   // of the lead: it may be lost
  RunningTime lead_heard_{0};      // last
  std::uint64_t iteration_ = 0;    // of the window
  std::vector<RankReport> said_;   // by ranks here, of the change in hand, and by those that finalise
  Fence followed_fence_;           // by which the present lead was named; 0: it was not
  std::set<std::string> deposed_;  // former leads, and who was lost with them: nobody listens to them

  std::optional<Lead> lead_;
  Requests requests_;
};

}  // namespace empi::agent

// SPDX-License-Identifier: Apache-2.0
// The lead of a job, as a value: what agents, ranks and controllers say goes in, what is to be said and done
// comes out. It knows no thread, socket or clock.
//
// It starts the job, answers the collectives of all pods (rendezvous.hpp), drives changes
// (change_driver.hpp), keeps what is known of ranks and pods, and ends the job. The first member of the
// committed membership leads; a lead that leaves stays it until its change is over, and then hands over all
// that it knows (HandOver).
//
//   Lead lead(identity);
//   lead.start(request, now);          // or lead.take_over(message, now)
//   lead.on(message, from, now);       // whatever comes, also of the own pod
//   for (const LeadAction& a : lead.take_actions()) ...
//   if (lead.verdict()) ...            // the job is over for this pod
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/api_answer.hpp"
#include "runtime/agent/lead/change_driver.hpp"
#include "runtime/agent/lead/rendezvous.hpp"
#include "runtime/agent/lead/sample_ring.hpp"
#include "runtime/agent/wire/running_clock.hpp"
#include "runtime/protocol/agent_messages.hpp"

namespace empi::agent {

// A rank that ends without a word, or because a peer is gone, often follows another one whose report, the
// cause, is under way.
inline constexpr std::chrono::milliseconds kPatienceForCause{300};
// What comes late to a lead that has handed over is passed on; no longer than this once the next one knows
// that it leads, which tells the others itself.
inline constexpr std::chrono::seconds kFormerLeadStays{5};

// Of the agent that leads.
struct LeadIdentity {
  std::string uid, job;
  bool malleable = true;
  RunningTime partition{std::chrono::seconds(10)};  // a pod that is silent for longer is lost
};

// How many times the silence that is borne a pod waits for a controller's word: a member whose lead is lost,
// a lead whose members are (decision R20). The controller takes two before it names another lead.
inline constexpr int kWaitsForWord = 6;

// How long a rank at the agreed iteration waits for its agent, which it then takes for gone: longer than a
// pod needs to end the wait or the rank. That waits for the word that names another lead; this one finds
// another pod silent, and waits for the word about it; then the change is called back.
constexpr RunningTime longest_wait_of_rank(RunningTime partition) {
  return 2 * (1 + kWaitsForWord) * partition + kRollbackPatience;
}

struct Moment {
  ChangeDriver::TimePoint clock;
  RunningTime running{0};
  std::int64_t window = 0;  // index of the measuring window that has ended last
};

struct SendMessage {
  std::vector<std::string> uids;  // ourselves too
  Message message;
};
struct AdmitPod {
  std::string uid, address;
};
struct PartFromPod {  // tell it what is queued; from then on it is a stranger
  std::string uid;
};
struct DropPod {  // nothing reaches it
  std::string uid;
};
using LeadAction = std::variant<SendMessage, AdmitPod, PartFromPod, DropPod>;

// What a member knows of the job, that is to lead it because the lead is lost.
struct PodKnowledge {
  Membership membership;
  std::vector<Namespace> spaces;
  std::chrono::seconds leaver_grace = kLeaverGrace;
  ProbeMode probe = ProbeMode::All;
  LeadNews news;
  // The change in hand, how far it has come here, and what the ranks here have reported of it.
  std::optional<ChangePlan> plan;
  ChangeState followed = ChangeState::Stable;
  std::uint64_t iteration = 0;
  std::vector<RankReport> reports;
};

// Why this pod cannot start the job so.
std::optional<ApiAnswer> refusal_of(const StartRequest& request, const std::string& own_uid);
// Why this is no change, whoever is asked.
std::optional<ApiAnswer> refusal_of(const ChangeRequest& request);

// Controllers count their fences one by one. Nobody makes one that the next controller cannot exceed.
inline constexpr std::int64_t kLongestFenceStep = 1'000'000;
// Whether a controller with `asked` may command; from then on `held` is its fence.
ApiAnswer check_fence(Fence asked, Fence& held);

class Lead {
 public:
  explicit Lead(LeadIdentity identity) : self_(std::move(identity)), rendezvous_(spaces_) {}
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

  // --- Controllers.
  void start(const StartRequest& request, Moment now);  // one that refusal_of() lets pass
  ApiAnswer begin_change(const ChangeRequest& request, Moment now);
  ApiAnswer cancel_change(const std::string& id, Fence fence, Moment now);
  ApiAnswer check_controller(Fence fence) { return check_fence(fence, fence_); }
  void raise_fence(Fence fence) { fence_ = std::max(fence_, fence); }
  // It says that members are lost.
  void lose(const LeadRequest& request, Moment now);
  // Whoever hears of the end is told. The own pod ends by itself.
  void stop(JobOutcome outcome);

  // --- Agents and ranks.
  // Whether the message was for a lead.
  bool on(const Message& message, const std::string& from, Moment now);
  void heard(const std::string& uid, Moment now);
  void reached(const std::string& uid);  // again, after it was silent
  void pod_lost(const std::string& uid, const std::string& why, Moment now);
  // Not heard of, or not reached, for as long as silence is borne. Where another pod may be named the lead, a
  // controller's word is waited for.
  void pod_silent(const std::string& uid, const std::string& why, Moment now);
  void take_over(const HandOver& message, Moment now);
  // Of a member: the lead is lost, and it was named. It leads once the others have said what they know.
  void succeed(PodKnowledge own, const LeadRequest& request, Moment now);
  void begin_to_lead(Moment now);  // everybody is being told
  void tick(Moment now);           // several times a second
  void second(Moment now);         // once a second

  std::vector<LeadAction> take_actions() { return std::exchange(actions_, {}); }
  const std::optional<JobOutcome>& verdict() const { return verdict_; }

  // --- What it knows.
  Fence fence() const { return fence_; }
  const Membership& membership() const { return membership_; }
  // A pod that does not listen yet is no loss.
  bool is_newcomer(const std::string& uid) const { return driver_.active() && driver_.plan().joins(uid); }
  // Of the change in hand; Stable where there is none.
  ChangeState state() const;
  void describe(MembershipView& view) const;
  std::vector<ChangeStatus> known_changes() const;
  std::vector<WindowSample> samples(std::int64_t since) const { return samples_.since(since); }
  std::optional<ChangeRecord> last_change() const;
  // Of a master-worker program: who mirrors the queue would take it over.
  const std::optional<ProcId>& queue_mirror() const { return state_.queue_mirror; }
  const std::optional<ProcId>& queue_keeper() const { return state_.queue_keeper; }
  bool queue_may_be_lost() const { return state_.tasks && state_.queue_keeper && mirror_takes_over(); }

 private:
  void send(const std::string& uid, Message message);
  void send_all(std::vector<std::string> uids, Message message);
  std::vector<std::string> others() const;  // members but this one
  void deliver(const RendezvousReplies& replies);
  void dismiss(const std::string& uid, const JobOutcome& outcome);
  void fail_job(const std::string& reason, int exit_code, std::vector<std::string> tail);
  void conclude(JobOutcome outcome);
  void tell_all(const JobOutcome& outcome);
  int members_ranks() const;
  const Member* find_pod(const std::string& uid) const;  // of the job or of the change in hand
  std::string name_of_pod(const std::string& uid) const;
  std::string name_of_rank(const ProcId& proc) const;
  JobRecord record() const;        // for pods that know the members
  JobRecord whole_record() const;  // for the others

  void on_message(const Collective& m, const std::string& from, Moment now);
  void on_message(const Publish& m, const std::string& from, Moment now);
  void on_message(const Lookup& m, const std::string& from, Moment now);
  void on_message(const Unpublish& m, const std::string& from, Moment now);
  void on_message(const Beat& m, const std::string& from, Moment now);
  void learn(const Beat& m, const std::string& from, Moment now);
  bool is_news(const RankReport& queue) const;
  void on_message(const RankExited& m, const std::string& from, Moment now);
  void on_message(const RankReported& m, const std::string& from, Moment now);
  void reported(const RankReport& report, const std::string& from, Moment now);
  void on_message(const RankAborted& m, const std::string& from, Moment now);
  void on_message(const StepDone& m, const std::string& from, Moment now);
  void on_message(const HandedOver& m, const std::string& from, Moment now);
  void on_message(const LeadKnown& m, const std::string& from, Moment now);
  void on_message(const TakenOver& m, const std::string& from, Moment now);

  // --- ranks.cpp
  bool is_member(const ProcId& proc, const std::string& uid) const;  // `uid`: its pod
  void rank_gone(const RankExited& exit, Moment now);
  void rank_aborted(const RankAborted& m, const std::string& what, Moment now);
  void member_failed(std::string what, const RankExited& exit, Moment now);
  void fail_if_ranks_are_missing();
  void succeed_when_all_done();

  // --- requests.cpp, changes.cpp
  void perform_steps(Moment now);
  void issue(const DriverStep& step);
  void prepare(Step m);
  void start_step_done(const StepDone& m, const std::string& from);
  void change_over(Moment now);

  // --- losses.cpp: programs that survive the loss of members
  void on_queue_report(const RankReport& report, Moment now);
  bool queue_is_on_its_way() const;
  std::optional<ProcId> rank_named(const std::string& id) const;
  bool mirror_takes_over() const;
  void pass_queue_on(Dropped& dropped);
  void bound_queue_on_its_way(Moment now);
  void fail_if_queue_is_lost();
  bool survives(const RankExited& exit) const;
  bool survives_loss_of_pod(const std::string& uid) const;
  std::string what_the_queue_lacks(const std::string& uid) const;
  void rank_lost(const ProcId& proc, const std::string& uid, const std::string& what,
                 const std::vector<std::string>& tail);
  void drop_member(const std::string& uid, const std::string& what, const std::vector<std::string>& tail);
  void tell_dropped(Dropped dropped);
  void tell_lost_in_change(const std::string& uid);
  void drop_lost_members();

  // --- recovery.cpp: those that go on from copies of their data (R18)
  bool recovers() const;
  bool has_parked() const;
  void begin_recovery();
  void on_recoverable(const RankReport& report);
  void on_recovered(const RankReport& report);
  void bound_recovery(Moment now);
  std::string describe_recovery() const;

  // --- succession.cpp: where a lead is lost (R20)
  std::optional<LeadNews> news() const;
  std::optional<LeadNews> news_to_tell();
  bool moves_queue(const ChangePlan& plan) const;
  bool queue_outlives_this_pod() const;
  void resume_change(const PodKnowledge& own, const std::string& why, Moment now);
  void lose_after(const std::map<std::string, std::string>& dead, Moment now);
  void recover_after(std::map<std::string, std::string> dead, Moment now);
  bool needs_word(const std::string& uid) const;
  void bound_silence(Moment now);
  void bound_hand_over(Moment now);
  void hear_of_newer(const Membership& newer);
  void adopt_newer(const Membership& newer);
  void begin_after_loss(Moment now);

  // --- hand_over.cpp
  void hand_over_to(const std::string& uid);
  bool still_ours(const Message& message, const std::string& from);
  void lost_as_former_lead(const std::string& uid);
  void leave_as_former_lead();
  void hand_over_for_a_loss(const std::string& what, const std::vector<std::string>& tail);

  const LeadIdentity self_;
  std::vector<LeadAction> actions_;
  std::optional<JobOutcome> verdict_;
  bool leads_ = true;  // not yet, of one that has taken over; until then it concludes nothing
  std::optional<JobOutcome> held_back_;

  Fence fence_;
  Membership membership_;
  NamespaceTable spaces_;
  std::int64_t next_space_ = 1;  // number of the next namespace of the job
  std::chrono::seconds leaver_grace_ = kLeaverGrace;
  ProbeMode probe_ = ProbeMode::All;

  LeadState state_;
  Rendezvous rendezvous_;
  ChangeDriver driver_;
  SampleRing samples_;
  std::set<std::string> starting_;  // agents that have not finished the present step of the start
  std::uint64_t start_step_ = 0;
  std::map<std::string, RunningTime> last_heard_;
  std::map<std::string, int> connected_;  // ranks that PMIx has seen connect and that run, by pod
  std::set<std::string> lost_pods_;       // that were members, or were to be
  std::set<ProcId> told_ended_;           // ranks whose end we have dealt with
  std::string reported_change_;           // the last one that is in the history
  std::optional<ChangeDriver::TimePoint> recovery_due_;
  std::optional<RunningTime> queue_due_;  // of the word of who keeps it now

  // Members that a controller is to say of whether they are lost.
  struct Silence {
    std::string why;
    RunningTime since{0}, said{0};
    bool unheard = false;  // else not reached
  };
  std::map<std::string, Silence> silent_;
  // A lead is lost, and we were named: until the others have said what they know.
  struct Succession {
    std::set<std::string> asked;
    std::map<std::string, std::string> dead;  // uid -> why
    PodKnowledge own;
  };
  std::optional<Succession> succession_;
  Fence named_by_;  // 0: we were not
  // The lead before us may have begun an epoch that nobody has heard of: its number is not used.
  bool skips_epoch_ = false;

  // A verdict that waits for a better reason.
  struct Suspicion {
    ChangeDriver::TimePoint due;
    std::optional<RankAborted> abort;  // nothing: a rank's end
    std::string what;
    int exit_code = 0;
  };
  std::vector<Suspicion> suspicions_;

  // On our way out of the lead: requests are answered by the next one, which they are sent to again.
  bool answers_no_more_ = false;
  // Once we are the lead no more.
  std::optional<ChangeStatus> handing_over_;  // the change that we leave by
  std::string successor_;
  std::optional<RunningTime> asked_at_;  // the successor, to take over; set by the first second that follows
  bool handed_over_ = false;             // it has everything
  std::set<std::string> not_told_;       // members that do not know the new lead yet
  std::optional<ChangeDriver::TimePoint> leaves_at_;
  std::optional<JobOutcome> leaves_as_;  // a rank of ours was lost; else it was released
};

}  // namespace empi::agent

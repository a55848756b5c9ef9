// SPDX-License-Identifier: Apache-2.0
// The life cycle of one job as a pure function: what is seen and what time it is -> what to do and what
// to write into status. Level based: every call starts from what is observed, nothing is remembered
// between calls except status, and calling it twice with the same input gives the same answer.
//
// Contract with the caller:
//  1. Write Decision::status first (if it differs). If that fails, do none of the actions; observe again.
//     Indices, change ids and the fence are in status BEFORE anything is done with them.
//  2. Then do the actions in order. Each is idempotent: a pod that exists, a pod that is gone, a change
//     the lead already knows are all success. If one fails, stop and observe again.
//  3. Call again on every new observation, and at the latest after the smallest Requeue.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/decide/policy.hpp"
#include "runtime/protocol/change.hpp"

namespace emj {

enum class PodPhase { Pending, Running, Succeeded, Failed, Unknown };

struct PodView {
  std::string name;
  std::string uid;
  int index = 0;
  PodPhase phase = PodPhase::Pending;
  std::string ip;
  bool ready = false;              // the agent answers
  bool terminating = false;        // deletionTimestamp is set
  bool disruption_target = false;  // eviction, preemption or a node drain was announced
  std::optional<int> exit_code;    // of the worker container, once it has ended
  std::string message;             // termination message (the ranks' last lines), or why the pod is waiting
  std::optional<empi::ChangeRecord> last_change = {};  // of the job, where the pod saw the job's end
  bool program_succeeded = false;                      // which it saw, everywhere
  std::string runtime_image = {};                      // that has brought agent and libraries into it
  std::optional<Time> unschedulable_since = {};        // no node has room for it
  std::string node = {};                               // that it is on, once it has one
  std::string queue = {};                              // that it was made for; unknown: its job's
  std::string pool = {};                               // of that queue

  bool operator==(const PodView&) const = default;
};

// All its containers have, well or not.
inline bool has_ended(const PodView& pod) {
  return pod.phase == PodPhase::Succeeded || pod.phase == PodPhase::Failed;
}

using empi::ChangeState;

// A change in flight.
struct ChangeView {
  std::string id;
  ChangeState state = ChangeState::Preparing;
};

struct EndedChange {
  std::string id;
  bool committed = false;  // otherwise rolled back
  bool timed_out = false;  // rolled back because its deadline passed
  std::string reason;
  std::int64_t paused_millis = 0;  // begin until commit
  std::int64_t lost_millis = 0;    // all time lost to it (decision R7)
};

// A member that the lead has dropped because it was lost; the others go on.
struct LossView {
  std::int64_t epoch = 0;                // of the membership that it was of: later losses have higher ones
  std::string reason;                    // who was lost, and how
  int ranks = 0;                         // that are left
  std::int64_t repeated_iterations = 0;  // known, as is lost_millis, when all of them have gone on
  std::int64_t lost_millis = 0;
};

enum class ProgramState { NotStarted, Running, Succeeded, Failed };

// What the lead answers to GET /v1/report. With reachable == false nothing else is looked at.
struct RuntimeView {
  bool reachable = false;
  // Another member has answered in the lead's place: the membership is right, the changes are not known.
  bool lead_silent = false;
  std::int64_t epoch = 0;
  std::int64_t fence = 0;
  std::string lead_uid;
  std::vector<std::string> members;   // pod UIDs of the committed epoch, in rank order
  std::optional<ChangeView> change;   // in flight
  std::optional<EndedChange> ended;   // the latest one that ended
  std::vector<LossView> losses;       // the last ones, oldest first
  std::vector<std::string> released;  // UIDs that have left for good: their pods may be deleted
  std::optional<int> ranks;           // of the members, that have connected to PMIx and run; absent: not told
  ProgramState program = ProgramState::NotStarted;
  int exit_code = 0;                // of a program that failed; 0: not told
  bool ending = false;              // a rank has finalised: no more changes
  bool survives_loss = false;       // the lead drops members that are lost, and the job goes on
  bool survives_lead_loss = false;  // so it does without its lead, if another one is named
  // UIDs of members that the lead has not heard of, and asks about; or who was named to lead, and asks them.
  std::vector<std::string> silent;
  Seconds lead_silence{0};  // where another member answers: it has heard nothing of the lead for so long
  Seconds partition{10};    // so long the agents bear silence
  std::string recovering;   // it is about to, in words; until then no change begins
  std::string message;      // Failed: which rank, how, its last lines
  std::string problem;      // why the lead has not answered, in words
  std::string unmeasured;   // why no windows could be asked for though the lead answers, in words
  CheckpointStatus checkpoint = {};  // as the lead knows it
  std::string checkpoint_trouble;    // why there is no newer one
  std::string notice;                // the last one by which a restartable program was told to end
  bool stale_token = false;          // an agent refused the newest token: it may have an older one only
};

// What its queue says to a job (operator/controller/scheduler.hpp).
struct QueueGrant {
  // The next version of status.allocation: taken over when its sequence is one above the present one's.
  std::optional<AllocationStatus> allocation;
  QueueCause cause = QueueCause::Unknown;  // why it waits, where it does
  std::string reason;
  std::optional<Time> expected_start;

  bool operator==(const QueueGrant&) const = default;
};

// Whether the lead may be replaced, by an answer and what was known `before`: who answers in its place may
// not have heard it yet.
inline bool is_replaceable(const RuntimeView& answer, bool before) {
  if (!answer.reachable) return before;
  return answer.survives_lead_loss || (answer.lead_silent && before);
}

struct Observed {
  ElasticMPIJob job;          // spec and status as last read
  std::vector<PodView> pods;  // all pods owned by the job
  RuntimeView runtime;
  std::vector<Sample> samples;  // oldest first
  std::int64_t fence = 1;       // the fence this controller holds
  std::string runtime_image;    // that it brings into the pods of a new run
  bool mutual_tls = false;      // what these shall speak
  bool cancel_requested = false;
  bool resume_autoscaling = false;  // `empi resume`
  std::string invalid_template;     // the server's message when it refused the pod template (422)
  std::string creation_problem;     // its message when it would not create a pod just now
  // Since when it has refused to, by a rule of the cluster (403: quota, policy).
  std::optional<Time> creation_denied_since;
  bool namespace_ends = false;       // it is being deleted, and no pod is made in it any more
  std::string command_problem;       // why the lead has not taken the last command, until it takes one
  std::string scale_problem;         // why the API server has refused the last size that the autoscaler wrote
  std::optional<Time> silent_since;  // the lead has not answered since then
  bool lead_was_replaceable = false;     // by the last answer
  std::optional<Time> unmeasured_since;  // the lead's sidecar has not answered since then
  std::optional<QueueGrant> grant;       // of a job in a queue
  // How long its queue lets pods wait for a node before they are given back; absent: its queue cannot be
  // read, and nothing is given back.
  std::optional<Seconds> pending_bound;
  Seconds provisioning{0};  // as long may a node of its pool take to be made
  int speed_percent = 100;  // of the fastest cores that it may get in its queue
  // What went wrong in this program itself over the job, until a pass ends well.
  std::string internal_error;
};

// --- actions --------------------------------------------------------------------------------------

struct CreatePod {
  int index = 0;
  bool operator==(const CreatePod&) const = default;
};

enum class DeleteReason {
  Released,     // left the job in a committed change
  NeverJoined,  // was never a member
  JobEnded,     // success, failure, cancel, or before a restart from the start
  Suspended
};

struct DeletePod {
  std::string name;
  std::string uid;  // precondition: never another pod of the same name
  DeleteReason reason = DeleteReason::NeverJoined;
  bool operator==(const DeletePod&) const = default;
};

struct MemberAddress {
  std::string name;
  std::string uid;
  std::string ip;
  int index = 0;
  bool operator==(const MemberAddress&) const = default;
};

// Tell the lead, the first member, to start the program on these members in this order.
struct StartJob {
  std::string lead_uid;
  std::vector<MemberAddress> members;
  std::int64_t fence = 0;
  bool operator==(const StartJob&) const = default;
};

// Tell the lead, or each of `pods`, to end the program now, before they are deleted. The first of all
// actions.
struct StopJob {
  std::int64_t fence = 0;
  std::string reason;
  std::vector<MemberAddress> pods;
  bool blind = false;  // nobody answered the last look: that nobody hears it is no news
  bool operator==(const StopJob&) const = default;
};

// Tell a member that it leads from now on, or the lead that members are lost (R20).
struct NameLead {
  MemberAddress lead;
  std::int64_t fence = 0;
  std::vector<std::string> dead;  // UIDs
  std::string reason;
  std::int64_t epoch = 0;  // of the members that are known of, in rank order; empty: nobody answers
  std::vector<std::string> members = {};
  bool operator==(const NameLead&) const = default;
};

struct SendChange {
  std::string id;
  std::int64_t fence = 0;
  std::int64_t epoch = 0;  // the epoch it starts from
  std::vector<MemberAddress> add;
  std::vector<std::string> remove;  // pod UIDs
  Time deadline{};
  std::string cause;  // autoscaling, manual or drain, as the metrics name it
  bool operator==(const SendChange&) const = default;
};

struct CancelChange {
  std::string id;
  std::int64_t fence = 0;
  bool operator==(const CancelChange&) const = default;
};

// Tell the ranks of a restartable program, as spec.runtime.restart says, to write what they go on from and to
// end. Who was told is not told again by the same id.
struct GiveNotice {
  std::string id;
  std::int64_t fence = 0;
  std::vector<MemberAddress> members;  // whose agents have to; the lead is the last
  bool operator==(const GiveNotice&) const = default;
};

// Write spec.worker.replicas through the scale subresource, as the autoscaler.
struct WriteScale {
  int replicas = 0;
  bool operator==(const WriteScale&) const = default;
};

// The job has been over for ttlSecondsAfterFinished: delete it, and with it all that it owns.
struct DeleteJob {
  std::string uid;  // precondition
  bool operator==(const DeleteJob&) const = default;
};

struct Requeue {
  Millis after{};
  bool operator==(const Requeue&) const = default;
};

// Emitted once per transition, not once per call.
struct RecordEvent {
  bool warning = false;
  std::string reason;
  std::string message;
  bool operator==(const RecordEvent&) const = default;
};

using Action = std::variant<CreatePod, DeletePod, StartJob, StopJob, NameLead, SendChange, CancelChange,
                            GiveNotice, WriteScale, DeleteJob, Requeue, RecordEvent>;

std::string to_string(const Action& action);

struct Decision {
  std::vector<Action> actions;
  JobStatus status;
  std::string autoscaling;  // this call's autoscaling decision in one line of words, "" when none was due
};

Decision decide(const Observed& observed, Time now);

// Agents were asked to start its present run, or its last one if it has ended.
bool asked_to_start(const JobStatus& status);

// Of those that have an address and have not ended.
std::vector<MemberAddress> addresses_of(const std::vector<PodView>& pods);

// The status of a job over which decide() or what follows it has failed by a defect: condition InternalError.
// Nothing else is decided.
JobStatus with_internal_error(const ElasticMPIJob& job, const std::string& what, Time now);

}  // namespace emj

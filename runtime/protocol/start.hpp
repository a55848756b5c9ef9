// SPDX-License-Identifier: Apache-2.0
// How a job starts and what every agent can say about it.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/protocol/change.hpp"
#include "runtime/protocol/checkpoint_news.hpp"
#include "runtime/protocol/sample.hpp"

namespace empi {

// How long a leaver that is released may go on without MPI_Finalize (decision R5'), when nobody says more.
inline constexpr std::chrono::seconds kLeaverGrace{30}, kLongestLeaverGrace{24 * 3600};
// Who calls MPI_Probe_adapt: every rank at the same places, or rank 0 alone, which tells the others to (a
// master-worker program over the four calls). Travels as text: "all", "root".
enum class ProbeMode { All, Root };
std::string_view to_string(ProbeMode mode);
std::optional<ProbeMode> probe_mode_from(std::string_view text);
bool enum_from(std::string_view text, ProbeMode& mode);

// The controller's first word, to the pod that will be the lead (the first member).
struct StartRequest {
  Fence fence;
  std::vector<Member> members;  // nspace and first_rank are filled in by the lead
  std::chrono::seconds leaver_grace = kLeaverGrace;
  ProbeMode probe = ProbeMode::All;
  bool recover = true;  // a program that can goes on without members that are lost (R18)
};

// A controller's word of who is lost and who leads from now on (decision R20), to the one that is to lead. To
// the lead that there is it says that these members are lost indeed, of which it has heard nothing.
struct LeadRequest {
  Fence fence;                    // above all that were used before: members follow the highest
  std::string lead;               // uid
  std::vector<std::string> dead;  // uids of members
  std::string reason;             // in words
  // The membership that the controller goes by (uids; absent: not told). Whoever is in an older one and not
  // in it was dropped by a lead that could not say so to all.
  Epoch epoch = {};
  std::vector<std::string> members = {};
};

// The job is to end: to the lead, which tells the others. Where the lead cannot be told, to each pod for
// itself.
struct StopRequest {
  Fence fence;
  std::string reason = "stopped by the controller";  // in words, for the outcome
  bool this_pod = false;                             // it ends whoever leads
  std::string pod = {};  // whom it is for (UID): another may have got that pod's address; empty: any
};

// Travels as text, "" while the job runs.
enum class JobResult { Running, Succeeded, Failed, Stopped };
std::string_view to_string(JobResult result);  // "", "succeeded", "failed", "stopped"
std::optional<JobResult> job_result_from(std::string_view text);

// How the job ended, in an agent's eyes. `tail` keeps the last output lines of the rank that failed first.
struct JobOutcome {
  JobResult result = JobResult::Running;
  std::string reason;  // in words: "rank 3 (pod tsunami-w-1) was killed by signal 9"
  int exit_code = 0;
  std::vector<std::string> tail;
  // The last one of the job, as the lead knew it: it may have ended since a controller looked.
  std::optional<ChangeRecord> last_change = {};
};

// GET /v1/membership.
struct MembershipView {
  std::string uid;  // of the pod that answers
  Fence fence;
  Membership membership;  // epoch 0 and empty before the start
  ChangeState state = ChangeState::Stable;
  std::string change;  // id of the change in hand, "" when Stable
  JobOutcome outcome;
  // Ranks of the members that PMIx has seen connect and that have not ended; the lead knows those of all
  // pods, another agent its own pod's.
  int ranks = 0;
  bool ending = false;  // a rank has finalised: no more changes
  // The lead drops members that are lost (epoch e+1), and the job goes on: a master-worker program, or one
  // that can go on from its snapshots.
  bool survives_loss = false;
  // So it does without its lead, too: another one may be named (LeadRequest).
  bool survives_lead_loss = false;
  // Its ranks make a world without those that were lost: until they have it there is no change. A sentence.
  std::string recovering;
  // Helper threads that never came back from changes that were rolled back, over the members' ranks; known to
  // the lead, as far as reported since it became that.
  int parked_helpers = 0;
  double parked_seconds = 0;  // processor time that such threads of this pod's ranks have taken
  std::vector<std::string>
      leave_requests;  // uids of pods that were asked to terminate and want a planned leave
  // Of the lead: members that are not heard of any more, and that it drops as soon as a controller says that
  // they are lost (LeadRequest).
  std::vector<std::string> silent;
  double lead_silent_seconds = 0;  // of a member: for so long it has heard nothing of its lead
  double partition_seconds = 0;    // so long silence is borne
  CheckpointNews checkpoint;       // known to the lead
  std::string notice;  // id of the last one that its ranks were given: to end, and be started again
};

// GET /v1/report?since=INDEX: all that a controller asks of a lead at each look, as it was at one moment. An
// agent that does not lead answers too: its view says who does.
struct Report {
  MembershipView view;
  std::vector<ChangeStatus> changes;  // newest last; the last ones that ended, and the one in hand
  std::vector<WindowSample> windows;  // with an index above `since`, newest last; the newest may lack pods
};

}  // namespace empi

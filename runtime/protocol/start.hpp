// How a job starts and what every agent can say about it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/protocol/change.hpp"
#include "runtime/protocol/sample.hpp"

namespace empi {

// The controller's first word, to the pod that will be the lead (the first member).
struct StartRequest {
  Fence fence;
  std::vector<Member> members;  // nspace and first_rank are filled in by the lead
};

// How the job ended, in an agent's eyes. `tail` keeps the last output lines of the rank that failed first.
struct JobOutcome {
  std::string result;  // "" while it runs, "succeeded", "failed" or "stopped"
  std::string reason;  // in words: "rank 3 (pod tsunami-w-1) was killed by signal 9"
  int exit_code = 0;
  std::vector<std::string> tail;
};

// GET /v1/membership.
struct MembershipView {
  std::string uid;  // of the pod that answers
  Fence fence;
  Membership membership;  // epoch 0 and empty before the start
  ChangeState state = ChangeState::Stable;
  std::string change;  // id of the change in hand, "" when Stable
  JobOutcome outcome;
  bool ending = false;  // a rank has finalised: no more changes
  // A master-worker program: the lead drops members that are lost (epoch e+1), and the job goes on.
  bool survives_loss = false;
  // Helper threads that never came back from changes that were rolled back, over the members' ranks; known to
  // the lead, as far as reported since it became that.
  int parked_helpers = 0;
  std::vector<std::string>
      leave_requests;  // uids of pods that were asked to terminate and want a planned leave
};

// GET /v1/report?since=INDEX: all that a controller asks of a lead at each look, as it was at one moment. An
// agent that does not lead answers too: its view says who does.
struct Report {
  MembershipView view;
  std::vector<ChangeStatus> changes;  // newest last; the last ones that ended, and the one in hand
  std::vector<WindowSample> windows;  // with an index above `since`, newest last; the newest may lack pods
};

}  // namespace empi

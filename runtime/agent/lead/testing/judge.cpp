// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/agent/lead/testing/course.hpp"

namespace empi::agent::histories {

namespace {

using namespace std::chrono_literals;

std::string text(const Membership& m) {
  std::string out = "epoch " + std::to_string(m.epoch.value) + ":";
  for (const Member& member : m.members) out += " " + member.uid;
  return out;
}

}  // namespace

void Judge::watch() {
  std::map<std::int64_t, std::string> leads;
  for (const auto& [uid, pod] : course_.world.pods) {
    if (!pod->alive() || pod->over() || !pod->is_lead()) continue;
    const Membership& members = pod->lead().membership();
    if (members.lead().uid != uid) continue;  // it is about to leave
    const auto [at, first] = leads.try_emplace(members.epoch.value, uid);
    if (!first)
      course_.world.violate("two leads of epoch " + std::to_string(members.epoch.value) + ": " + at->second +
                            ", " + uid);
  }
  course_.world.events.after(500ms, [this] { watch(); });
}

// Nothing has happened for a while.
void Judge::expect_rest() {
  SimulatedPod* pod = course_.lead();
  if (!pod || course_.program.finished()) return;
  const Membership& now = pod->lead().membership();
  if (state_of(*pod) != ChangeState::Stable) {
    std::string reason;
    for (const ChangeStatus& change : pod->lead().known_changes()) reason = change.reason;
    return course_.world.violate("change " + change_of(*pod) + " hangs in " +
                                 std::string(to_string(state_of(*pod))) + ": " + reason);
  }
  for (const Member& member : now.members) {
    SimulatedPod* other = course_.world.find(member.uid);
    if (other && other->alive() && !other->over() && other->membership() != now)
      course_.world.violate("members know different lists: " + text(now) + "; " + other->uid() + " " +
                            text(other->membership()));
  }
  for (const ChangeStatus& change : pod->lead().known_changes())
    if (change.outcome != ChangeOutcome::Committed && change.reason.empty())
      course_.world.violate("change " + change.request.id + " ended without a reason");
  for (const std::string& what : course_.program.traffic().unanswered())
    course_.world.violate("a request hangs: " + what);
}

// A member whose former lead has gone, and whom the next one could not reach for as long as silence is borne,
// to tell it so: it is lost, and so is the job.
void Judge::excuse_unreached(const SimulatedPod& pod) {
  for (const auto& [uid, next] : course_.world.pods) {
    if (!next->alive() || next->over() || !next->is_lead()) continue;
    if (!next->lead().membership().find(pod.uid()) || next->distance_to(pod.uid()) < 9500ms) continue;
    course_.excused.insert(pod.uid());
    course_.may_fail = true;
  }
}

// A lead that has handed over, and could not tell the next one so for as long as silence is borne: nobody
// leads.
void Judge::excuse_untold(const SimulatedPod& former) {
  if (!former.is_lead() || former.lead().membership().members.empty()) return;
  const std::string& uid = former.lead().membership().lead().uid;
  const SimulatedPod* next = uid == former.uid() ? nullptr : course_.world.find(uid);
  if (next && !next->is_lead() && former.distance_to(uid) >= 9500ms) course_.may_fail = true;
}

// Nobody is declared lost who was heard of a moment ago. A lead that has ended is not there for those who
// have not been told.
void Judge::expect_guilt(const SimulatedPod& pod) {
  const std::string& reason = pod.outcome().reason;
  excuse_untold(pod);
  for (const auto& [uid, other] : course_.world.pods) {
    const bool lead = reason.find("lost the lead (pod " + uid + ")") != reason.npos;
    if (!lead && reason.find("pod " + other->member().name + " is lost") == reason.npos) continue;
    if (!other->alive() || other->over()) {
      if (pod.is_lead() && !pod.lead().membership().find(pod.uid())) course_.left_behind.insert(pod.uid());
      if (lead) excuse_unreached(pod);
      continue;
    }
    // One that the lead has sent home, and that has not heard so. Before its release its end is that of the
    // job.
    if (lead && other->is_lead() && !other->lead().membership().find(pod.uid())) {
      const bool cut_off = pod.distance_to(uid) >= 9500ms;
      course_.may_fail = course_.may_fail || (cut_off && !course_.program.released(pod.uid()));
      continue;
    }
    if (lead || pod.is_lead()) {
      const bool unheard = reason.find("not heard of") != reason.npos;
      // By the network; or by the controller, of one that had stood still for long enough and goes on just
      // now.
      const bool given_up = course_.world.unreachable.contains(uid) ||
                            (course_.excused.contains(uid) && reason.find(": it is gone") != reason.npos);
      if (!given_up && (unheard ? pod.silence_of(uid) : pod.distance_to(uid)) < 9500ms)
        course_.world.violate(
            std::string("healthy pod ").append(uid).append(" is declared lost: ").append(reason));
      course_.excused.insert(uid);
      course_.may_fail = true;
    }
  }
}

void Judge::expect_end() {
  bool failed = false;
  for (const auto& [uid, pod] : course_.world.pods) {
    if (pod->alive() && !pod->over()) {
      if (pod->started())
        course_.world.violate("pod " + uid + " has not ended" +
                              (pod->is_lead() ? ", and leads: " + text(pod->lead().membership()) : ""));
      continue;
    }
    const JobOutcome& o = pod->outcome();
    if (o.result != JobResult::Failed || course_.left_behind.contains(uid)) continue;
    if (o.exit_code == 7) failed = true;
    if ((course_.tasks || course_.recoverable) && course_.excused.contains(uid)) continue;
    if (course_.program.is_lost_by_vote(uid)) continue;
    // Nothing of its is in the queue any more. A lead that has not heard yet that it has left takes it for
    // lost.
    if (course_.tasks && course_.program.has_left(uid) && o.reason.find("leads the job") != o.reason.npos)
      continue;
    if (o.reason.starts_with("lost the lead")) continue;  // judged when it was said
    failed = true;
    if (o.reason.empty()) course_.world.violate("pod " + uid + " failed without a reason");
    if (!course_.may_fail && !(course_.fails && o.exit_code == 7))
      course_.world.violate("pod " + uid + " failed for no reason of ours: " + o.reason);
  }
  course_.coverage.failed_jobs += failed;
  if (course_.may_fail || !course_.program.finished()) return;
  // What the ranks of a pod return that was lost, and dropped, nobody can know.
  const auto& failed_in = course_.program.failed_in();
  if ((course_.tasks || course_.recoverable) && std::ranges::any_of(failed_in, [&](const std::string& uid) {
        return course_.world.unreachable.contains(uid) || course_.excused.contains(uid) ||
               course_.program.is_lost_by_vote(uid);
      }))
    return;
  const bool fails = !failed_in.empty();
  if (fails != failed)
    course_.world.violate(fails ? "a rank's exit code 7 is lost" : "a job that ended well has failed");
}

}  // namespace empi::agent::histories

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/agent/lead/testing/course.hpp"

namespace empi::agent::histories {

namespace {

using namespace std::chrono_literals;

// The short ones are tried more often.
constexpr ChangeState kHunted[] = {ChangeState::Preparing,  ChangeState::Building,  ChangeState::Ready,
                                   ChangeState::Ready,      ChangeState::Window,    ChangeState::Window,
                                   ChangeState::Window,     ChangeState::Committed, ChangeState::Draining,
                                   ChangeState::RollingBack};

}  // namespace

void Faults::one() {
  World& world = course_.world;
  ++course_.coverage.faults;
  if (course_.job == Job::Votes && world.dice.percent(60)) return course_.program.split_a_vote();
  if (course_.recoverable && world.dice.percent(30)) return lose_lead(0);
  if (course_.job == Job::Mirrored && world.dice.percent(50)) {
    if (world.dice.percent(60)) return lose_queue(0);
    if (world.dice.percent(50)) return lose_lead(0);
    return hunt(kHunted[world.dice.below(std::size(kHunted))], 0, [this](SimulatedPod&) { lose_lead(0); });
  }
  switch (world.dice.below(14)) {
    case 0:
      return cut();
    case 1:
      if (SimulatedPod* pod = course_.any_pod()) stall(*pod, world.dice.delay(300, 6000));
      return;
    case 2:
      return long_stall();
    case 3:
      return refuse();
    case 4:
      return rotate_key();
    case 5:
      return change_controller();
    case 6:
      return course_.program.linger();
    case 7:
    case 8:
    case 9:
      return lose_in(kHunted[world.dice.below(std::size(kHunted))]);
    case 10:
      return hunt(ChangeState::Draining, 0, [this](SimulatedPod& pod) { lose_leaver(pod); });
    case 11:
      return end_program();
    case 12:
      world.tell("ranks probe at different places");
      return course_.program.diverge(world.dice.delay(500, 6000));
    default:
      if (world.dice.percent(40)) lose_member();
  }
}

void Faults::cut() {
  World& world = course_.world;
  SimulatedPod *a = course_.any_pod(), *b = course_.any_pod();
  if (!a || !b || a == b) return;
  const Ms time = world.dice.delay(500, 6000);
  world.tell("cut " + a->uid() + " - " + b->uid() + " " + std::to_string(time.count()));
  world.network.cut(a->uid(), b->uid(), world.events.now() + time);
}

void Faults::refuse() {
  World& world = course_.world;
  SimulatedPod* pod = course_.any_pod();
  if (!pod) return;
  const Ms time = world.dice.delay(300, 5000);
  world.tell("nobody listens at " + pod->uid() + " " + std::to_string(time.count()));
  world.network.refuse(pod->uid(), world.events.now() + time);
}

// While leavers take their time, or the lead waits for its own pod's ranks to go; or a change is in hand.
void Faults::end_program() {
  World& world = course_.world;
  constexpr ChangeState kStates[] = {ChangeState::Committed, ChangeState::Draining, ChangeState::Preparing,
                                     ChangeState::Building,  ChangeState::Ready,    ChangeState::RollingBack};
  const bool early = world.dice.percent(30);
  if (!early) {
    course_.program.linger();
    if (world.dice.percent(40)) return hunt_leaving_lead(0);
  }
  const ChangeState state = early ? kStates[2 + world.dice.below(4)] : kStates[world.dice.below(2)];
  hunt(state, 0, [this](SimulatedPod&) { course_.finish(); });
}

// Somebody of the union is lost while a change is in `state`, or soon after; some states are short.
void Faults::lose_in(ChangeState state) {
  const Ms delay = course_.world.dice.delay(0, state == ChangeState::Ready    ? 15
                                               : state == ChangeState::Window ? 80
                                                                              : 120);
  hunt(state, 0, [this, delay, member = course_.world.dice.percent(20)](SimulatedPod&) {
    course_.world.events.after(delay, [this, member] {
      if (member) return lose_member();
      if (SimulatedPod* pod = course_.lead()) lose_joiner(*pod);
    });
  });
}

// Does `what` as soon as a change is in `state`.
void Faults::hunt(ChangeState state, int tries, std::function<void(SimulatedPod&)> what) {
  if (SimulatedPod* pod = course_.lead(); pod && state_of(*pod) == state) return what(*pod);
  if (tries < 4000 && !course_.quiet)
    course_.world.events.after(
        course_.world.dice.delay(1, 15),
        [this, state, tries, what = std::move(what)]() mutable { hunt(state, tries + 1, std::move(what)); });
}

// The program ends while the lead waits for its own pod's ranks to go, to hand over then.
void Faults::hunt_leaving_lead(int tries) {
  if (course_.leaving_lead()) return course_.finish();
  if (tries < 2000 && !course_.quiet)
    course_.world.events.after(course_.world.dice.delay(1, 30),
                               [this, tries] { hunt_leaving_lead(tries + 1); });
}

// Longer than the silence that is borne: of the lead too, for which others are not to pay.
void Faults::long_stall() {
  if (SimulatedPod* pod = course_.world.dice.percent(70) ? course_.lead() : course_.any_pod()) {
    course_.excused.insert(pod->uid());
    course_.may_fail = true;
    stall(*pod, course_.world.dice.delay(10'300, 30'000));
  }
}

void Faults::rotate_key() {
  const std::string key = "key-" + std::to_string(next_key_++);
  std::vector<std::string> both = course_.tokens;
  both.insert(both.begin(), key);
  course_.world.tell("rotate the key");
  ++course_.coverage.keys;
  for (const auto& [uid, pod] : course_.world.pods)
    course_.world.events.after(course_.world.dice.delay(0, 15'000),
                               [pod = pod.get(), both] { pod->set_tokens(both); });
  course_.tokens = both;
}

void Faults::change_controller() {
  const Fence old = course_.fence;
  course_.fence.value += 1;
  SimulatedPod* pod = course_.lead();
  if (!pod || state_of(*pod) == ChangeState::Stable) return;
  ++course_.coverage.controllers;
  if (pod->cancel("none of ours", course_.fence).status == 200)
    course_.world.violate("a change that is not in hand is cancelled");
  if (pod->cancel(change_of(*pod), old).status == 200)
    course_.world.violate("a controller of the past is obeyed");
}

void Faults::lose_joiner(SimulatedPod& lead) {
  const auto& plan = lead.plan();
  if (!plan || plan->add.empty()) return;
  SimulatedPod* joiner = course_.world.find(plan->add.front().uid);
  if (!joiner || !joiner->alive()) return;
  const ChangeState state = state_of(lead);
  // A joiner that was lost after its vote is a member that is lost.
  course_.excused.insert(joiner->uid());
  course_.world.tell("lose joiner " + joiner->uid() + " in " + std::string(to_string(state)));
  if (state == ChangeState::Stable) return;
  const bool early =
      state == ChangeState::Preparing || state == ChangeState::Building || state == ChangeState::RollingBack;
  // Of a master-worker program it is borne, unless the news comes while the queue is on its way.
  const bool works = !early || state == ChangeState::Building;  // or has come to, by then
  const bool two_in_window = state == ChangeState::Window && !course_.tasks && plan->add.size() > 1;
  const int how = two_in_window && course_.world.dice.percent(70) ? 3 : course_.world.dice.below(4);
  // Its agent sees it die: then it is a member that the job can do without, or none.
  const bool borne =
      how == 1 && course_.recoverable && !course_.program.finished() && lead.view().survives_loss;
  course_.may_fail = course_.may_fail || (!early && !course_.tasks && !borne) ||
                     (works && course_.program.passes_queue_on(*plan));
  if (how == 0) return course_.pod_dies(*joiner);
  if (joiner->ranks().empty()) return;
  switch (how) {
    case 1:
      return course_.program.kill(*joiner->ranks().begin(), 9);
    case 2:
      // Of a master-worker program too: only a rank that is killed from outside is one that can be lost.
      // Of a world of tasks it may have said before that it is built: then it is committed meanwhile.
      course_.may_fail = course_.may_fail || !early || (course_.tasks && state == ChangeState::Building);
      return course_.program.abort(*joiner->ranks().begin());
    default:  // stands still
      if ((early || state == ChangeState::Ready || state == ChangeState::Window) && !course_.tasks)
        course_.program.hang(*joiner->ranks().begin());
      // The window waits for it, and the lead finds out meanwhile that another one is lost.
      if (two_in_window)
        if (SimulatedPod* other = course_.world.find(plan->add.back().uid); other && other->alive()) {
          course_.excused.insert(other->uid());
          course_.pod_dies(*other);
        }
  }
}

void Faults::lose_leaver(SimulatedPod& lead) {
  const auto& plan = lead.plan();
  if (!plan || plan->remove.empty()) return;
  for (const std::string& uid : plan->remove)
    if (SimulatedPod* leaver = course_.world.find(uid);
        leaver && leaver->alive() && leaver != &lead && course_.program.released(uid))
      return course_.pod_dies(*leaver);
}

// As its lead knows: who has the queue, and who takes it over.
bool Faults::queue_may_be_lost(const Lead& known) const {
  const Program& program = course_.program;
  return known.queue_may_be_lost() && known.queue_keeper() == program.keeper() &&
         program.mirrors(known.queue_mirror()) && program.is_settled(program.keeper());
}

// Of a master-worker program, whose changes another lead undoes or brings to their end where the queue stays.
bool Faults::queue_stays(const SimulatedPod& lead) const {
  const auto& plan = lead.plan();
  return course_.tasks && plan &&
         (plan->remove.empty() || (plan->add.empty() && !plan->leaves(course_.program.pod_of_queue())));
}

// Of a job that goes on: all know so, and nothing else is in hand that a loss may end.
bool Faults::is_borne() const {
  if (course_.job == Job::Any || course_.program.finished() || course_.program.recovering()) return false;
  const SimulatedPod* lead = course_.lead();
  if (!lead || lead->lead().membership().members.size() < 3) return false;
  if (state_of(*lead) != ChangeState::Stable && !queue_stays(*lead)) return false;
  // A word of it may take five seconds. Who has not heard who keeps the queue goes on with the one before.
  const bool known = course_.world.events.now() - course_.program.keeps_since() >= 6s;
  if (course_.tasks && !(known && queue_may_be_lost(lead->lead()))) return false;
  return std::ranges::all_of(lead->lead().membership().members, [&](const Member& member) {
    const SimulatedPod* pod = course_.world.find(member.uid);
    return pod->responds() && !pod->over() && pod->view().survives_lead_loss;
  });
}

// At rest it must be borne, and in most changes of a queue; in others it depends on the moment.
void Faults::lose_lead(int tries) {
  World& world = course_.world;
  if (!is_borne()) {
    if (tries < 400 && !course_.quiet)
      world.events.after(world.dice.delay(20, 100), [this, tries] { lose_lead(tries + 1); });
    return;
  }
  SimulatedPod* lead = course_.lead();
  world.tell("lose the lead " + lead->uid());
  course_.excused.insert(lead->uid());
  if (course_.tasks || world.dice.percent(60) || lead->ranks().empty()) return course_.pod_dies(*lead);
  if (world.dice.percent(50)) return course_.program.kill(*lead->ranks().begin(), 9);
  stall(*lead, world.dice.delay(31'000, 40'000));  // it is given up, and comes back
}

// Where it is mirrored that must be borne, at rest and in a change.
void Faults::lose_queue(int tries) {
  World& world = course_.world;
  const SimulatedPod* lead = course_.lead();
  const ProcId keeper = course_.program.keeper();
  if (course_.program.finished() || !lead || !queue_may_be_lost(lead->lead())) {
    if (tries < 400 && !course_.quiet)
      world.events.after(world.dice.delay(20, 100), [this, tries] { lose_queue(tries + 1); });
    return;
  }
  world.tell("lose the rank with the queue, " + name_of(keeper));
  ++course_.coverage.queues;
  course_.excused.insert(course_.program.pod_of_queue());
  course_.program.kill(keeper, 9);
}

void Faults::lose_member() {
  SimulatedPod* first = course_.lead();
  SimulatedPod* pod = course_.any_pod();
  if (!first || !pod || !first->lead().membership().find(pod->uid())) return;
  course_.may_fail = true;
  course_.world.tell("lose member " + pod->uid());
  course_.excused.insert(pod->uid());
  if (course_.world.dice.percent(50) || pod->ranks().empty()) return course_.pod_dies(*pod);
  if (course_.world.dice.percent(30)) return course_.program.abort(*pod->ranks().begin());
  course_.program.kill(*pod->ranks().begin(), 9);
}

void Faults::stall(SimulatedPod& pod, Ms time) {
  course_.world.tell("stop " + pod.uid() + " " + std::to_string(time.count()));
  pod.stall(time);
}

}  // namespace empi::agent::histories

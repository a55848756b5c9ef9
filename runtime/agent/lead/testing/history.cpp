// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/history.hpp"

#include <algorithm>

#include "runtime/agent/lead/history_hooks.hpp"
#include "runtime/agent/lead/testing/program.hpp"

namespace empi::agent::histories {
namespace {

using namespace std::chrono_literals;

Coverage* g_coverage = nullptr;
void met(ChangeState state, ChangeEvent event) { g_coverage->cells.insert({state, event}); }

constexpr ChangeState kHunted[] = {ChangeState::Preparing,  ChangeState::Building,  ChangeState::Ready,
                                   ChangeState::Window,     ChangeState::Committed, ChangeState::Draining,
                                   ChangeState::RollingBack};

class History {
 public:
  History(std::uint64_t seed, Coverage& coverage)
      : world_(seed), tasks_(world_.dice.percent(20)), program_(world_, tasks_), coverage_(coverage) {
    world_.program = &program_;
    world_.on_end = [this](const Pod& pod) { expect_guilt(pod); };
  }

  std::vector<std::string> run() {
    begin();
    world_.network.faulty = true;
    const int faults = world_.dice.between(5, 8);
    for (int i = 0; i < faults; ++i) world_.events.after(world_.dice.delay(500, 40'000), [this] { fault(); });
    advance(45s);
    world_.network.faulty = false;
    quiet_ = true;
    advance(90s);
    expect_rest();
    finish();
    advance(40s);
    expect_end();
    ++coverage_.histories;
    for (std::size_t kind = 0; kind < world_.messages.size(); ++kind)
      for (std::size_t fate = 0; fate < kFates; ++fate)
        coverage_.messages[kind][fate] += world_.messages[kind][fate];
    if (!world_.violations.empty())
      world_.violations.insert(world_.violations.end(), world_.story.begin(), world_.story.end());
    return world_.violations;
  }

 private:
  void violate(const std::string& what) { world_.violations.push_back(what); }
  void advance(Ms time) { world_.events.run_until(world_.events.now() + time); }

  Pod& make_pod() {
    const std::string n = std::to_string(next_pod_++);
    const Member member{"u" + n, "w-" + n, "10.0.0." + n + ":7400", world_.dice.between(1, 4), "", 0};
    auto pod = std::make_unique<Pod>(world_, member, tokens_);
    return *(world_.pods[member.uid] = std::move(pod));
  }

  void begin() {
    StartRequest request;
    request.fence = fence_;
    request.leaver_grace = std::chrono::seconds(world_.dice.between(2, 5));
    for (int i = world_.dice.between(2, 4); i > 0; --i) request.members.push_back(make_pod().member());
    Pod& first = *world_.find(request.members.front().uid);
    if (first.start(request).status != 200) violate("the start is refused");
    control();
    watch();
  }

  // The one that leads, as a controller finds it.
  Pod* lead() {
    for (const auto& [uid, pod] : world_.pods)
      if (pod->responds() && !pod->over() && pod->is_lead() && pod->lead().membership().lead().uid == uid)
        return pod.get();
    return nullptr;
  }
  // The one that leads still, and leaves by the change in hand.
  Pod* leaving_lead() {
    for (const auto& [uid, pod] : world_.pods)
      if (pod->responds() && !pod->over() && pod->is_lead() && pod->lead().membership().lead().uid != uid &&
          view_of(*pod).state == ChangeState::Draining)
        return pod.get();
    return nullptr;
  }
  static MembershipView view_of(const Pod& pod) {
    MembershipView view;
    pod.lead().describe(view);
    return view;
  }

  void watch() {
    std::map<std::int64_t, std::string> leads;
    for (const auto& [uid, pod] : world_.pods) {
      if (!pod->alive() || pod->over() || !pod->is_lead()) continue;
      const Membership& members = pod->lead().membership();
      if (members.lead().uid != uid) continue;  // it is about to leave
      const auto [at, first] = leads.try_emplace(members.epoch.value, uid);
      if (!first)
        violate("two leads of epoch " + std::to_string(members.epoch.value) + ": " + at->second + ", " + uid);
    }
    world_.events.after(500ms, [this] { watch(); });
  }

  // --- The controller.

  void control() {
    world_.events.after(world_.dice.delay(100, 700), [this] { control(); });
    Pod* pod = lead();
    if (!pod) return;
    const MembershipView view = view_of(*pod);
    if (view.state != ChangeState::Stable) {
      if (!quiet_ && world_.dice.percent(2)) pod->cancel(view.change, fence_);
      return;
    }
    for (const auto& [uid, other] : world_.pods)  // it deletes what has no place any more
      if (!view.membership.find(uid) && other->alive() && !other->over() && other.get() != pod)
        pod_dies(*other);
    if (quiet_ || program_.finished() || view.membership.members.empty()) return;
    if (world_.dice.percent(30)) return;
    request_change(*pod, view);
  }

  void request_change(Pod& pod, const MembershipView& view) {
    const int size = static_cast<int>(view.membership.members.size());
    ChangeRequest request;
    request.id = "c" + std::to_string(next_change_++);
    request.fence = fence_;
    request.epoch = view.membership.epoch;
    request.deadline_ms = world_.dice.between(3000, 10'000);
    const int kind = world_.dice.below(3);
    if (kind != 0 && size > 1)
      for (int i = world_.dice.between(1, std::min(2, size - 1)); i > 0; --i) {
        const std::string& uid =
            view.membership.members[static_cast<std::size_t>(world_.dice.below(size))].uid;
        if (std::ranges::find(request.remove, uid) == request.remove.end()) request.remove.push_back(uid);
      }
    if (kind != 1 && size < 6)
      for (int i = world_.dice.between(1, 2); i > 0; --i) request.add.push_back(make_pod().member());
    if (request.add.empty() && request.remove.empty()) return;
    const int status = pod.change(request).status;
    if (status == 200) {
      std::string what = "change " + request.id;
      for (const Member& m : request.add) what += " +" + m.uid;
      for (const std::string& uid : request.remove) what += " -" + uid;
      world_.tell(what);
      ++coverage_.changes;
      if (world_.dice.percent(20) && pod.change(request).status != 200 && !pod.over())
        violate("a change that is asked for again is refused");
      return;
    }
    for (const Member& member : request.add) world_.find(member.uid)->die();
  }

  // --- Faults.

  void fault() {
    ++coverage_.faults;
    switch (world_.dice.below(13)) {
      case 0:
        if (Pod* a = any_pod(), *b = any_pod(); a && b && a != b) {
          const Ms time = world_.dice.delay(500, 6000);
          world_.tell("cut " + a->uid() + " - " + b->uid() + " " + std::to_string(time.count()));
          world_.network.cut(a->uid(), b->uid(), world_.events.now() + time);
        }
        return;
      case 1:
        if (Pod* pod = any_pod()) stall(*pod, world_.dice.delay(300, 6000));
        return;
      case 2:
        return long_stall();
      case 3:
        if (Pod* pod = any_pod()) {
          const Ms time = world_.dice.delay(300, 5000);
          world_.tell("nobody listens at " + pod->uid() + " " + std::to_string(time.count()));
          world_.network.refuse(pod->uid(), world_.events.now() + time);
        }
        return;
      case 4:
        return rotate_key();
      case 5:
        return change_controller();
      case 6:
        return program_.linger();
      case 7:
      case 8:
      case 9:
        return hunt(kHunted[world_.dice.below(std::size(kHunted))], 0, [this](Pod&) {
          world_.events.after(world_.dice.delay(0, 120), [this] {
            if (Pod* pod = lead()) lose_joiner(*pod);
          });
        });
      case 10:
        return hunt(ChangeState::Draining, 0, [this](Pod& pod) { lose_leaver(pod); });
      case 11:
        program_.linger();
        if (world_.dice.percent(40)) return hunt_leaving_lead(0);
        return hunt(world_.dice.percent(50) ? ChangeState::Committed : ChangeState::Draining, 0,
                    [this](Pod&) { finish(); });
      default:
        if (world_.dice.percent(40)) lose_member();
    }
  }

  Pod* any_pod() {
    std::vector<Pod*> alive;
    for (const auto& [uid, pod] : world_.pods)
      if (pod->alive() && !pod->over()) alive.push_back(pod.get());
    return alive.empty() ? nullptr
                         : alive[static_cast<std::size_t>(world_.dice.below(static_cast<int>(alive.size())))];
  }

  // Does `what` as soon as a change is in `state`.
  void hunt(ChangeState state, int tries, const std::function<void(Pod&)>& what) {
    if (Pod* pod = lead(); pod && view_of(*pod).state == state) return what(*pod);
    if (tries < 2000 && !quiet_)
      world_.events.after(world_.dice.delay(1, 30), [=, this] { hunt(state, tries + 1, what); });
  }

  // The program ends while the lead waits for its own pod's ranks to go, to hand over then.
  void hunt_leaving_lead(int tries) {
    if (leaving_lead()) return finish();
    if (tries < 2000 && !quiet_)
      world_.events.after(world_.dice.delay(1, 30), [this, tries] { hunt_leaving_lead(tries + 1); });
  }

  // Longer than the silence that is borne: of the lead too, for which others are not to pay.
  void long_stall() {
    if (Pod* pod = world_.dice.percent(70) ? lead() : any_pod()) {
      excused_.insert(pod->uid());
      may_fail_ = true;
      stall(*pod, world_.dice.delay(10'300, 30'000));
    }
  }

  void rotate_key() {
    const std::string key = "key-" + std::to_string(next_key_++);
    std::vector<std::string> both = tokens_;
    both.insert(both.begin(), key);
    world_.tell("rotate the key");
    for (const auto& [uid, pod] : world_.pods)
      world_.events.after(world_.dice.delay(0, 15'000), [pod = pod.get(), both] { pod->set_tokens(both); });
    tokens_ = both;
  }

  void change_controller() {
    const Fence old = fence_;
    fence_.value += 1;
    Pod* pod = lead();
    if (!pod || view_of(*pod).state == ChangeState::Stable) return;
    if (pod->cancel("none of ours", fence_).status == 200)
      violate("a change that is not in hand is cancelled");
    if (pod->cancel(view_of(*pod).change, old).status == 200) violate("a controller of the past is obeyed");
  }

  void lose_joiner(Pod& lead) {
    const auto& plan = lead.plan();
    if (!plan || plan->add.empty()) return;
    Pod* joiner = world_.find(plan->add.front().uid);
    if (!joiner || !joiner->alive()) return;
    const MembershipView view = view_of(lead);
    // A joiner that was lost after its vote is a member that is lost.
    excused_.insert(joiner->uid());
    world_.tell("lose joiner " + joiner->uid() + " in " + std::string(to_string(view.state)));
    if (view.state == ChangeState::Stable) return;
    const bool early = view.state == ChangeState::Preparing || view.state == ChangeState::Building ||
                       view.state == ChangeState::RollingBack;
    may_fail_ = may_fail_ || (!early && !tasks_);
    switch (world_.dice.below(3)) {
      case 0:
        return pod_dies(*joiner);
      case 1:
        if (!joiner->ranks().empty()) program_.kill(*joiner->ranks().begin());
        return;
      default:  // stands still
        if (!joiner->ranks().empty() &&
            (early || view.state == ChangeState::Ready || view.state == ChangeState::Window) && !tasks_)
          program_.hang(*joiner->ranks().begin());
    }
  }

  void lose_leaver(Pod& lead) {
    const auto& plan = lead.plan();
    if (!plan || plan->remove.empty()) return;
    for (const std::string& uid : plan->remove)
      if (Pod* leaver = world_.find(uid);
          leaver && leaver->alive() && leaver != &lead && program_.released(uid))
        return pod_dies(*leaver);
  }

  void lose_member() {
    Pod* first = lead();
    Pod* pod = any_pod();
    if (!first || !pod || !first->lead().membership().find(pod->uid())) return;
    may_fail_ = true;
    world_.tell("lose member " + pod->uid());
    excused_.insert(pod->uid());
    if (world_.dice.percent(50))
      pod_dies(*pod);
    else if (!pod->ranks().empty())
      program_.kill(*pod->ranks().begin());
  }

  void stall(Pod& pod, Ms time) {
    world_.tell("stop " + pod.uid() + " " + std::to_string(time.count()));
    pod.stall(time);
  }

  void pod_dies(Pod& pod) {
    world_.tell("kill pod " + pod.uid());
    pod.die();
    program_.pod_died(pod);
  }

  void finish() {
    if (program_.finished() || program_.in_window()) return;
    Pod* pod = lead();
    if (!pod) pod = leaving_lead();
    if (!pod) return;
    std::set<ProcId> failing;
    if (world_.dice.percent(40)) {
      auto ranks = ranks_of(pod->lead().membership().members);
      std::erase_if(ranks, [&](const ProcId& proc) { return !program_.is_alive(proc); });
      if (ranks.empty()) return;
      failing.insert(ranks[static_cast<std::size_t>(world_.dice.below(static_cast<int>(ranks.size())))]);
    }
    fails_ = !failing.empty();
    world_.tell(fails_ ? "the program ends with 7" : "the program ends");
    program_.finish(failing);
  }

  // --- What must hold.

  static std::string text(const Membership& m) {
    std::string out = "epoch " + std::to_string(m.epoch.value) + ":";
    for (const Member& member : m.members) out += " " + member.uid;
    return out;
  }

  // Nothing has happened for a while.
  void expect_rest() {
    Pod* pod = lead();
    if (!pod || program_.finished()) return;
    const MembershipView view = view_of(*pod);
    if (view.state != ChangeState::Stable) {
      std::string reason;
      for (const ChangeStatus& change : pod->lead().known_changes()) reason = change.reason;
      return violate("change " + view.change + " hangs in " + std::string(to_string(view.state)) + ": " +
                     reason);
    }
    for (const Member& member : view.membership.members) {
      Pod* other = world_.find(member.uid);
      if (other && other->alive() && !other->over() && other->membership() != view.membership)
        violate("members know different lists: " + text(view.membership) + "; " + other->uid() + " " +
                text(other->membership()));
    }
    for (const ChangeStatus& change : pod->lead().known_changes())
      if (change.outcome != ChangeOutcome::Committed && change.reason.empty())
        violate("change " + change.request.id + " ended without a reason");
  }

  // Nobody is declared lost who was heard of a moment ago. A lead that has ended is not there for those who
  // have not been told.
  void expect_guilt(const Pod& pod) {
    const std::string& reason = pod.outcome().reason;
    for (const auto& [uid, other] : world_.pods) {
      const bool lead = reason.find("lost the lead (pod " + uid + ")") != reason.npos;
      if (!lead && reason.find("pod " + other->member().name + " is lost") == reason.npos) continue;
      if (!other->alive() || other->over()) continue;
      // One that the lead has sent home, and that has not heard so.
      if (lead && other->is_lead() && !other->lead().membership().find(pod.uid())) continue;
      if (lead || pod.is_lead()) {
        const bool unheard = reason.find("not heard of") != reason.npos;
        const bool given_up = world_.unreachable.contains(uid);
        if (!given_up && (unheard ? pod.silence_of(uid) : pod.distance_to(uid)) < 9500ms)
          violate(std::string("healthy pod ").append(uid).append(" is declared lost: ").append(reason));
        excused_.insert(uid);
        may_fail_ = true;
      }
    }
  }

  void expect_end() {
    bool failed = false;
    for (const auto& [uid, pod] : world_.pods) {
      if (pod->alive() && !pod->over()) {
        if (pod->started())
          violate("pod " + uid + " has not ended" +
                  (pod->is_lead() ? ", and leads: " + text(pod->lead().membership()) : ""));
        continue;
      }
      const JobOutcome& o = pod->outcome();
      if (o.result != JobResult::Failed) continue;
      if (o.exit_code == 7) failed = true;
      if (tasks_ && excused_.contains(uid)) continue;
      if (o.reason.starts_with("lost the lead")) continue;  // judged when it was said
      failed = true;
      if (o.reason.empty()) violate("pod " + uid + " failed without a reason");
      if (!may_fail_ && !(fails_ && o.exit_code == 7))
        violate("pod " + uid + " failed for no reason of ours: " + o.reason);
    }
    coverage_.failed_jobs += failed;
    if (may_fail_ || !program_.finished()) return;
    const bool fails = program_.has_failed();
    if (fails != failed) violate(fails ? "a rank's exit code 7 is lost" : "a job that ended well has failed");
  }

  World world_;
  const bool tasks_;
  Program program_;
  Coverage& coverage_;
  Fence fence_{1};
  std::vector<std::string> tokens_ = {"key-0"};
  int next_pod_ = 0, next_change_ = 1, next_key_ = 1;
  bool quiet_ = false;
  bool may_fail_ = false, fails_ = false;  // a fault ends the job; a rank returns 7
  std::set<std::string> excused_;          // pods that may be called lost
};

}  // namespace

std::vector<std::string> run_history(std::uint64_t seed, Coverage& coverage) {
  g_coverage = &coverage;
  g_history_hooks.met = met;
  std::vector<std::string> violations = History(seed, coverage).run();
  g_history_hooks.met = nullptr;
  return violations;
}

}  // namespace empi::agent::histories

// Master-worker programs (decision R8): joiners attach to the queue, leavers depart when their task is done,
// and a member that is lost is dropped from the membership, while nobody else stops. Only the pod with the
// queue and the lead cannot be lost.
#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "runtime/agent/agent.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {

void Agent::do_attach(const json& m, json&) {
  if (!plan_) return;
  followed_ = ChangeState::Building;
  RankOrder order;
  order.kind = RankOrder::Kind::Attach;
  order.change = plan_->id;
  order.port = m.at("address");
  order_all(order);
}

void Agent::do_depart(const json&, json&) {
  if (!plan_) return;
  followed_ = ChangeState::Window;
  RankOrder order;
  order.kind = RankOrder::Kind::Leave;
  order.change = plan_->id;
  // The next lead's pod is the best place for the queue: one pod less that the job cannot do without.
  const ProcId successor = ranks_of(plan_->next_members().lead()).front();
  order.port = successor.nspace + "/" + std::to_string(successor.rank);
  for (const Member& member : plan_->old.members)
    if (plan_->leaves(member.uid)) std::ranges::copy(ranks_of(member), std::back_inserter(order.procs));
  order_all(order);
}

void Agent::on_queue_report(const RankReport& report) {
  queue_keeper_ = report.proc;
  queue_address_ = report.address;
  spdlog::info("{} keeps the queue of tasks", describe(report.proc));
  driver_.queue_is_at(report.address, Clock::now());
}

// A rank that was killed from outside. One that crashes or gives an error would do so again in another place.
bool Agent::survives(const RankExit& exit) const {
  const bool from_outside =
      exit.signal == SIGKILL || exit.signal == SIGTERM || exit.signal == SIGINT || exit.signal == SIGHUP;
  return from_outside && tasks_ && queue_keeper_ && exit.proc != *queue_keeper_;
}

bool Agent::survives_loss_of_pod(const std::string& uid) const {
  if (!tasks_ || !queue_keeper_ || uid == options_.pod_uid) return false;
  const auto owner = spaces_.owner(*queue_keeper_);
  return owner && owner->uid != uid;
}

// A pod that has lost a rank is not what the job was promised: it goes as a whole, and can be replaced. In
// the pod of the lead or of the queue the other ranks go on.
void Agent::rank_lost(const ProcId& proc, const std::string& uid, const std::string& what,
                      const std::vector<std::string>& tail) {
  if (survives_loss_of_pod(uid)) return drop_member(uid, what, tail);
  spdlog::warn("{}; its tasks are given to others", what);
  const json procs = json::array({json{proc.nspace, proc.rank}});
  for (const Member& other : membership_.members)
    send(other.uid, {{"op", "dropped"}, {"uid", ""}, {"procs", procs}, {"membership", membership_}});
}

void Agent::drop_member(const std::string& uid, const std::string& what,
                        const std::vector<std::string>& tail) {
  const Member* found = membership_.find(uid);
  if (!found || over_) return;
  const Member member = *found;
  ChangeStatus record;
  record.request.epoch = membership_.epoch;
  record.request.remove = {uid};
  record.from_ranks = membership_.ranks();
  membership_ = next_membership(membership_, {}, {uid});
  record.request.id = kLostPrefix + std::to_string(membership_.epoch.value);
  record.to_ranks = membership_.ranks();
  record.outcome = "committed";
  record.reason = what;
  record.released = {uid};
  history_.push_back(std::move(record));
  spdlog::warn("{}; pod {} is dropped from the job, its tasks are given to others", what, member.name);
  json procs = json::array();
  for (const ProcId& proc : ranks_of(member)) {
    procs.push_back({proc.nspace, proc.rank});
    exit_codes_.erase(proc);
    lost_ranks_.erase(proc);
    hello_.erase(proc);
  }
  last_heard_.erase(uid);
  leave_requests_.erase(uid);
  send(uid, {{"op", "end"}, {"outcome", JobOutcome{"failed", what, 1, tail}}});
  for (const Member& other : membership_.members)
    send(other.uid, {{"op", "dropped"}, {"uid", uid}, {"procs", procs}, {"membership", membership_}});
}

void Agent::drop_lost_members() {
  const auto lost = std::exchange(lost_, {});
  for (const auto& [uid, what] : lost) {
    if (survives_loss_of_pod(uid))
      drop_member(uid, what, {});
    else if (membership_.find(uid))
      spdlog::warn("{}; its tasks are given to others", what);
  }
  if (!lost.empty()) succeed_when_all_done();
}

void Agent::on_dropped(const json& m, const std::string&) {
  const std::string uid = m.at("uid");
  if (auto told = m.at("membership").get<Membership>(); told.epoch >= membership_.epoch)
    membership_ = std::move(told);
  spaces_.pod_gone(uid);
  deliver(hub_.recheck());
  if (!is_hub() && !uid.empty()) peers_->drop(uid);  // the hub still has to tell it
  // Its connection to the queue may not say so: the machine may be gone.
  RankOrder order;
  order.kind = RankOrder::Kind::Lost;
  for (const json& p : m.at("procs")) order.procs.push_back({p.at(0), p.at(1)});
  order_all(order);
}

}  // namespace empi::agent

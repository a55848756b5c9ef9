// SPDX-License-Identifier: Apache-2.0
// What the lead asks of every agent during the start and during changes. Each step is answered once.
#include <signal.h>

#include <algorithm>

#include "runtime/agent/agent.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

// MPI_UNIVERSE_SIZE of malleable jobs: room to grow.
constexpr std::uint32_t kUniverse = 1024;

std::string not_told(const ProcId& proc, RankOrder::Kind kind, const std::string& problem) {
  return "rank " + name_of(proc) + " was not told to " + std::string(to_string(kind)) + ": " + problem;
}

}  // namespace

void Agent::on_message(const Step& m, const std::string& from) {
  using Kind = StepKind;
  StepDone done{m.change, m.number, {}};
  try {
    switch (m.kind) {
      case Kind::Prepare:
        do_prepare(m);
        break;
      case Kind::Launch:
        do_launch(m);
        break;
      case Kind::Fetch:
        return do_fetch(m, from);
      case Kind::Build:
        do_build(done.answer);
        break;
      case Kind::ReadProbes:
        do_read_probes(done.answer);
        break;
      case Kind::Arm:
        do_arm(m, done.answer);
        break;
      case Kind::Confirm:
        do_confirm(m);
        break;
      case Kind::Interrupt:
        do_interrupt(m);
        break;
      case Kind::GiveUp:
        do_give_up(m);
        break;
      case Kind::Commit:
        do_commit();
        break;
      case Kind::Release:
        do_release();
        break;
      case Kind::Terminate:
        end_leavers(m, SIGTERM);
        break;
      case Kind::Kill:
        end_leavers(m, SIGKILL);
        break;
      case Kind::Forget:
        do_forget(m);
        break;
      case Kind::Attach:
        do_attach(m);
        break;
      case Kind::Depart:
        do_depart();
        break;
    }
  } catch (const std::exception& error) {
    log::error("step {} failed: {}", to_string(m.kind), error.what());
    done.answer = {.ok = false, .error = error.what()};
  }
  send(from, done);
}

// A pod has processors, memory and settings for as many ranks as it was made for.
void Agent::check_place(const Namespace& ns) const {
  const NamespaceNode* own = ns.node_of_pod(options_.pod_uid);
  if (!own || own->count == static_cast<std::uint32_t>(options_.slots)) return;
  throw std::runtime_error("pod " + options_.pod_name + " was made for " + std::to_string(options_.slots) +
                           " ranks, and is to start " + std::to_string(own->count) + ": expected " +
                           names::kSlots + " and the member's slots to be the same");
}

// Takes over what the lead knows of the job; an agent that is in the job already learns the new namespaces.
void Agent::adopt_record(const JobRecord& record) {
  for (const Namespace& ns : record.spaces) adopt_space(ns);
  fence_ = std::max(fence_, record.fence);
  probe_ = record.probe;
  // Who leads may be news to us.
  if (started_ && record.epoch >= membership_.epoch) lead_uid_ = record.lead;
  if (started_) return;
  membership_ = record.membership();
  started_ = true;
  lead_uid_ = record.lead;
}

void Agent::adopt_space(const Namespace& ns) {
  if (spaces_.find(ns.name)) return;
  check_place(ns);
  for (const NamespaceNode& node : ns.nodes) add_peer(node.uid, node.address);
  pmix_->add_namespace(ns, options_.malleable ? kUniverse : 0);
  spaces_.add(ns);
}

void Agent::do_prepare(const Step& m) {
  adopt_record(m.record.value());
  if (!m.plan) return;
  plan_.emplace(*m.plan, membership_);
  if (!plan_->add.empty()) adopt_space(plan_->joiners);
  fetching_.reset();
  followed_ = ChangeState::Preparing;
  pages_.set_changing(local_ranks(), true);
}

void Agent::do_launch(const Step& m) {
  const Namespace* ns = spaces_.find(m.space);
  if (!ns) throw std::runtime_error("unknown namespace " + m.space);
  launch_ranks(*ns, plan_.has_value());
}

// Throws std::runtime_error when a rank that is to listen cannot be told: whoever waits for what it was told
// to do must know.
void Agent::order_all(const RankOrder& order) {
  std::string unheard;
  for (const ProcId& proc : local_ranks()) {
    const std::string problem = link_->send(proc, order);
    if (problem.empty() || !unheard.empty()) continue;
    link_->receive_pending();  // that it has finalised, perhaps
    if (const LocalRank& rank = ranks_[proc]; rank.hello && !rank.finalized)
      unheard = not_told(proc, order.kind, problem);
  }
  if (!unheard.empty()) throw std::runtime_error(unheard);
}

RankOrder Agent::order_of_change(RankOrder::Kind kind) const {
  RankOrder order;
  order.kind = kind;
  order.change = plan_->id;
  order.port = plan_->port;
  order.joining = plan_->joins(options_.pod_uid);
  order.leaving = plan_->leaves(options_.pod_uid);
  order.staying_count = plan_->staying_ranks();
  order.leaving_count = plan_->leaving_ranks();
  order.joining_count = plan_->joining_ranks();
  return order;
}

void Agent::do_fetch(const Step& m, const std::string& from) {
  if (!plan_) return;
  fetching_ = Fetching{from, m.change, m.number, {}};
  const RankOrder order = order_of_change(RankOrder::Kind::Prepare);
  for (const ProcId& proc : local_ranks()) {
    fetching_->silent.insert(proc);
    if (const std::string problem = link_->send(proc, order); !problem.empty())
      fetching_->error = not_told(proc, order.kind, problem);
  }
  fetch_modex([this, number = m.number](const std::string& error) {
    if (!fetching_ || fetching_->number != number) return;
    fetching_->connected = true;
    if (fetching_->error.empty()) fetching_->error = error;
    answer_fetch();
  });
  answer_fetch();
}

void Agent::rank_ready(const RankReport& report) {
  if (!fetching_ || !plan_ || report.change != plan_->id || !fetching_->silent.erase(report.proc)) return;
  if (!report.ok && fetching_->error.empty())
    fetching_->error = "rank " + name_of(report.proc) + " cannot build the next world: " + report.error;
  answer_fetch();
}

void Agent::answer_fetch() {
  if (!fetching_) return;
  const bool all_well = fetching_->connected && fetching_->silent.empty();
  if (fetching_->error.empty() && !all_well) return;
  const Fetching done = std::move(*fetching_);
  fetching_.reset();
  send(done.from, StepDone{done.change, done.number, {.ok = done.error.empty(), .error = done.error}});
}

void Agent::do_build(Answer& answer) {
  if (!plan_) return;
  followed_ = ChangeState::Building;
  answer.probes = pages_.highest_probe(pages_.probing(local_ranks(), probe_));
  order_all(order_of_change(RankOrder::Kind::Build));
}

void Agent::do_read_probes(Answer& answer) {
  followed_ = ChangeState::Ready;
  const std::vector<ProcId> probing = pages_.probing(local_ranks(), probe_);
  answer.probes = pages_.highest_probe(probing);
  answer.marks = pages_.probe_marks(probing);
}

void Agent::do_arm(const Step& m, Answer& answer) {
  answer.ok = pages_.arm(local_ranks(), m.iteration, m.joiners_precede, probe_);
  answer.probes = pages_.highest_probe(pages_.probing(local_ranks(), probe_));
}

void Agent::do_confirm(const Step& m) {
  followed_ = ChangeState::Window;
  pages_.confirm(local_ranks(), m.iteration);
}

void Agent::do_interrupt(const Step& m) {
  if (!plan_) return;
  for (const ProcId& proc : m.dead) pmix_->notify_dead(proc);
  RankOrder order;
  order.kind = RankOrder::Kind::Cancel;
  order.change = plan_->id;
  order_all(order);
}

void Agent::do_give_up(const Step& m) {
  if (!plan_) return;
  followed_ = ChangeState::RollingBack;
  fetching_.reset();
  if (plan_->joins(options_.pod_uid)) {
    launcher_.kill_all(SIGKILL);
    return;
  }
  pages_.set(local_ranks(), 0);
  do_interrupt(m);
}

void Agent::do_commit() {
  membership_ = plan_.value().next_members();
  followed_ = ChangeState::Draining;
  pages_.set(local_ranks(), 0);
  pages_.set_changing(local_ranks(), false);
}

void Agent::do_release() {
  if (!plan_) return;
  RankOrder order;
  order.kind = RankOrder::Kind::Release;
  order.change = plan_->id;
  order_all(order);
}

void Agent::end_leavers(const Step& m, int signal) {
  log::warn("{}", m.reason);
  for (const ProcId& proc : m.leavers) launcher_.kill(proc, signal);
}

void Agent::do_forget(const Step& m) {
  for (const std::string& name : m.spaces) drop_namespace(name);
  // The lead still has to send the leavers home, and a leaving lead to hear our answer.
  for (const std::string& uid : m.pods)
    if (!is_lead() && uid != lead_uid_) drop_peer(uid);
  plan_.reset();
  followed_ = ChangeState::Stable;
  pages_.set_changing(local_ranks(), false);
}

void Agent::do_attach(const Step& m) {
  if (!plan_) return;
  followed_ = ChangeState::Building;
  RankOrder order;
  order.kind = RankOrder::Kind::Attach;
  order.change = plan_->id;
  order.port = m.address;
  order_all(order);
}

void Agent::do_depart() {
  if (!plan_) return;
  followed_ = ChangeState::Window;
  RankOrder order;
  order.kind = RankOrder::Kind::Leave;
  order.change = plan_->id;
  // The next lead's pod is the best place for the queue: one pod less that the job cannot do without.
  order.port = name_of(ranks_of(plan_->next_members().lead()).front());
  order.procs = ranks_of(plan_->leavers());
  order_all(order);
}

}  // namespace empi::agent

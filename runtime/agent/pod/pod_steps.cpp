// SPDX-License-Identifier: Apache-2.0
// What the lead asks of every pod during the start and during changes. Each step is answered once.
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "runtime/agent/pod/fetch.hpp"
#include "runtime/agent/pod/pod.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

using Kind = StepKind;

std::string not_told(const ProcId& proc, RankOrder::Kind kind, const std::string& problem) {
  return "rank " + name_of(proc) + " was not told to " + std::string(to_string(kind)) + ": " + problem;
}

}  // namespace

void Pod::on_message(const Step& m, const std::string& from) {
  StepDone done{m.change, m.number, {}};
  try {
    if (m.kind == Kind::Fetch) return do_fetch(m, from);
    do_step(m, done.answer);
  } catch (const std::exception& error) {
    log::error("step {} failed: {}", to_string(m.kind), error.what());
    done.answer = {.ok = false, .error = error.what()};
  }
  send(from, done);
}

void Pod::do_step(const Step& m, StepAnswer& answer) {
  switch (m.kind) {
    case Kind::Prepare:
      return do_prepare(m);
    case Kind::Launch:
      return do_launch(m);
    case Kind::Fetch:  // answers by itself
      return;
    case Kind::Build:
      return do_build(answer);
    case Kind::ReadProbes:
      return do_read_probes(answer);
    case Kind::Arm:
      answer.ok = edges_.arm(ranks_.running(), m, probe_);
      answer.probes = edges_.highest_probe(ranks_.running(), probe_);
      return;
    case Kind::Confirm:
      followed_ = ChangeState::Window;
      iteration_ = m.iteration;
      return edges_.confirm(ranks_.running(), m.iteration);
    case Kind::Interrupt:
      return do_interrupt(m);
    case Kind::GiveUp:
      return do_give_up(m);
    case Kind::Commit:
      return do_commit();
    case Kind::Release:
      return do_release();
    case Kind::Terminate:
      return end_leavers(m, SIGTERM);
    case Kind::Kill:
      return end_leavers(m, SIGKILL);
    case Kind::Forget:
      return do_forget(m);
    case Kind::Attach:
      return do_attach(m);
    case Kind::Depart:
      return do_depart();
  }
}

// A pod has processors, memory and settings for as many ranks as it was made for.
void Pod::check_place(const Namespace& ns) const {
  const NamespaceNode* own = ns.node_of_pod(self_.uid);
  if (!own || own->count == static_cast<std::uint32_t>(self_.slots)) return;
  throw std::runtime_error("pod " + self_.name + " was made for " + std::to_string(self_.slots) +
                           " ranks, and is to start " + std::to_string(own->count) + ": expected " +
                           names::kSlots + " and the member's slots to be the same");
}

// Takes over what the lead knows of the job; an agent that is in the job already learns the new namespaces.
void Pod::adopt(const JobRecord& record) {
  for (const Namespace& ns : record.spaces) adopt(ns);
  fence_ = std::max(fence_, record.fence);
  probe_ = record.probe;
  leaver_grace_ = record.leaver_grace;
  if (news_) news_->next_space = std::max(news_->next_space, record.next_space);
  if (!started_) membership_ = record.membership();
  started_ = true;
  if (record.epoch >= membership_.epoch) follow(record.lead);  // it may be news to us
}

void Pod::adopt(const Namespace& ns) {
  if (spaces_.find(ns.name)) return;
  check_place(ns);
  for (const NamespaceNode& node : ns.nodes) edges_.admit(node.uid, node.address);
  edges_.add_namespace(ns);
  spaces_.add(ns);
}

void Pod::do_prepare(const Step& m) {
  adopt(m.record.value());
  if (!m.plan) return;
  const bool known = plan_ && plan_->id == m.plan->id;  // from a lead that was lost
  plan_.emplace(*m.plan, membership_);
  if (!known) said_.clear();
  if (!plan_->add.empty()) adopt(plan_->joiners);
  fetching_.reset();
  followed_ = ChangeState::Preparing;
  edges_.set_changing(ranks_.running(), true);
}

void Pod::do_launch(const Step& m) {
  const Namespace* space = spaces_.find(m.space);
  if (!space) throw std::runtime_error("unknown namespace " + m.space);
  const NamespaceNode* own = space->node_of_pod(self_.uid);
  if (!own) return;
  for (std::uint32_t i = 0; i < own->count; ++i) {
    const ProcId proc{space->name, own->first + i};
    edges_.launch(proc, plan_.has_value());
    ranks_.add(proc);
  }
  log::info("started {} ranks of {}", own->count, space->name);
}

// Throws std::runtime_error when a rank that is to listen cannot be told: whoever waits for what it was told
// to do must know.
void Pod::order_all(const RankOrder& order) {
  std::string unheard;
  for (const ProcId& proc : ranks_.running()) {
    const std::string problem = edges_.order(proc, order);
    if (problem.empty() || !unheard.empty()) continue;
    edges_.hear_ranks();  // that it has finalised, perhaps
    if (const LocalRank* rank = ranks_.find(proc); rank && rank->hello && !rank->finalized)
      unheard = not_told(proc, order.kind, problem);
  }
  if (!unheard.empty()) throw std::runtime_error(unheard);
}

RankOrder Pod::plain_order(RankOrder::Kind kind) const {
  RankOrder order;
  order.kind = kind;
  order.change = plan_->id;
  return order;
}

RankOrder Pod::order_of_change(RankOrder::Kind kind) const {
  RankOrder order = plain_order(kind);
  order.port = plan_->port;
  order.joining = plan_->joins(self_.uid);
  order.leaving = plan_->leaves(self_.uid);
  order.staying_count = plan_->staying_ranks();
  order.leaving_count = plan_->leaving_ranks();
  order.joining_count = plan_->joining_ranks();
  return order;
}

void Pod::do_fetch(const Step& m, const std::string& from) {
  if (!plan_) return;
  fetching_ = Fetching{from, m.change, m.number, {}};
  const RankOrder order = order_of_change(RankOrder::Kind::Prepare);
  for (const ProcId& proc : ranks_.running()) {
    fetching_->silent.insert(proc);
    if (const std::string problem = edges_.order(proc, order); !problem.empty())
      fetching_->error = not_told(proc, order.kind, problem);
  }
  fetch_of_other_side([this, number = m.number](const std::string& error) {
    if (!fetching_ || fetching_->number != number) return;
    fetching_->connected = true;
    if (fetching_->error.empty()) fetching_->error = error;
    answer_fetch();
  });
  answer_fetch();
}

// Before the building starts every agent has the modex data of the other side: if a joiner dies in the
// middle, nobody is left asking for data that cannot be had (Open MPI crashes on that), and accept is
// quicker.
void Pod::fetch_of_other_side(Fetch::Answered done) {
  const bool joining = plan_->joins(self_.uid);
  const std::vector<Member>& ours = joining ? plan_->add : plan_->old.members;
  const auto self = std::ranges::find(ours, self_.uid, &Member::uid);
  fetch_connection_data(joining ? plan_->old.members : plan_->add,
                        static_cast<std::size_t>(std::distance(ours.begin(), self)), std::move(done));
}

void Pod::fetch_connection_data(std::vector<Member> pods, std::size_t first, Fetch::Answered done) {
  const auto ask = [this](const Member& other, const Fetch::Answered& answered) {
    request(ModexOfPod{0, other.nspace}, other.uid, [this, other, answered](const Reply& r) {
      for (const Reply::Blob& blob : r.blobs)
        if (spaces_.find(other.nspace)) connection_data_[{other.nspace, blob.rank}] = blob.bytes;
      answered(r.status == kPmixSuccess ? "" : "no connection data from pod " + other.name);
    });
  };
  Fetch::begin(std::move(pods), first, ask, std::move(done));
}

// Its lead hears of it when this pod has the connection data of all others: a rank that passes a revocation
// on to one that is lost, and that it has never sent anything before, asks for that (quirk modex-refused).
void Pod::rank_recoverable(const RankReport& report) {
  recoverable_.push_back(report);
  if (recoverable_.size() > 1) return;  // asked for already
  std::vector<Member> others = membership_.members;
  const auto self = std::ranges::find(others, self_.uid, &Member::uid);
  const auto first = static_cast<std::size_t>(std::distance(others.begin(), self));
  if (self != others.end()) others.erase(self);
  fetch_connection_data(std::move(others), first, [this](const std::string&) {
    if (over_) return;
    for (const RankReport& held : std::exchange(recoverable_, {})) reports_.add(held, edges_.moment().clock);
    send_reports();
  });
}

void Pod::rank_ready(const RankReport& report) {
  if (!fetching_ || !plan_ || report.change != plan_->id || !fetching_->silent.erase(report.proc)) return;
  if (!report.ok && fetching_->error.empty())
    fetching_->error = "rank " + name_of(report.proc) + " cannot build the next world: " + report.error;
  answer_fetch();
}

void Pod::answer_fetch() {
  if (!fetching_) return;
  const bool all_well = fetching_->connected && fetching_->silent.empty();
  if (fetching_->error.empty() && !all_well) return;
  const Fetching done = std::move(*fetching_);
  fetching_.reset();
  send(done.from, StepDone{done.change, done.number, {.ok = done.error.empty(), .error = done.error}});
}

void Pod::do_build(StepAnswer& answer) {
  if (!plan_) return;
  followed_ = ChangeState::Building;
  answer.probes = edges_.highest_probe(ranks_.running(), probe_);
  order_all(order_of_change(RankOrder::Kind::Build));
}

void Pod::do_read_probes(StepAnswer& answer) {
  followed_ = ChangeState::Ready;
  answer.probes = edges_.highest_probe(ranks_.running(), probe_);
  answer.marks = edges_.probe_marks(ranks_.running(), probe_);
}

void Pod::do_interrupt(const Step& m) {
  if (!plan_) return;
  for (const ProcId& proc : m.dead) edges_.notify_dead(proc);
  order_all(plain_order(RankOrder::Kind::Cancel));
}

void Pod::do_give_up(const Step& m) {
  if (!plan_) return;
  followed_ = ChangeState::RollingBack;
  fetching_.reset();
  if (plan_->joins(self_.uid)) {
    edges_.kill_all();
    return;
  }
  edges_.disarm(ranks_.running());
  do_interrupt(m);
}

void Pod::do_commit() {
  membership_ = plan_.value().next_members();
  followed_ = ChangeState::Draining;
  edges_.disarm(ranks_.running());
  edges_.set_changing(ranks_.running(), false);
}

void Pod::do_release() {
  if (plan_) order_all(plain_order(RankOrder::Kind::Release));
}

void Pod::end_leavers(const Step& m, int signal) {
  log::warn("{}", m.reason);
  for (const ProcId& proc : m.leavers) edges_.kill(proc, signal);
}

void Pod::do_forget(const Step& m) {
  for (const std::string& name : m.spaces) {
    if (!spaces_.find(name)) continue;
    spaces_.remove(name);
    edges_.remove_namespace(name);
    std::erase_if(connection_data_, [&](const auto& entry) { return entry.first.nspace == name; });
    ranks_.forget(name);
    requests_.forget(name);
  }
  // The lead still has to send the leavers home, and a leaving lead to hear our answer.
  for (const std::string& uid : m.pods)
    if (!is_lead() && uid != lead_uid_) drop(uid);
  if (plan_) {
    const bool rolled_back = std::ranges::find(m.spaces, plan_->joiners.name) != m.spaces.end();
    requests_.end_change(plan_->port, rolled_back ? plan_->joiners.name : "");
  }
  plan_.reset();
  followed_ = ChangeState::Stable;
  edges_.set_changing(ranks_.running(), false);
}

void Pod::do_attach(const Step& m) {
  if (!plan_) return;
  followed_ = ChangeState::Building;
  RankOrder order = plain_order(RankOrder::Kind::Attach);
  order.port = m.address;
  order_all(order);
}

void Pod::do_depart() {
  if (!plan_) return;
  followed_ = ChangeState::Window;
  RankOrder order = plain_order(RankOrder::Kind::Leave);
  // The next lead's pod is the best place for the queue: one pod less that the job cannot do without.
  order.port = name_of(ranks_of(plan_->next_members().lead()).front());
  order.procs = ranks_of(plan_->leavers());
  order_all(order);
}

}  // namespace empi::agent

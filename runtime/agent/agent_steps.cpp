// What the hub asks of every agent during the start and during changes. Each step is answered once.
#include <signal.h>
#include <spdlog/spdlog.h>

#include "runtime/agent/agent.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

// MPI_UNIVERSE_SIZE of malleable jobs: room to grow.
constexpr std::uint32_t kUniverse = 1024;

}  // namespace

void Agent::on_step(const json& m, const std::string& from) {
  using Kind = DriverStep::Kind;
  const std::string name = m.at("kind");
  json answer = {{"op", "step_done"},
                 {"change", m.value("change", "")},
                 {"number", m.at("number")},
                 {"kind", name},
                 {"ok", true}};
  try {
    switch (step_kind_from(name).value()) {
      case Kind::Prepare:
        do_prepare(m, answer);
        break;
      case Kind::Launch:
        do_launch(m, answer);
        break;
      case Kind::Fetch:
        return do_fetch(from, std::move(answer));
      case Kind::Build:
        do_build(m, answer);
        break;
      case Kind::ReadProbes:
        do_read_probes(m, answer);
        break;
      case Kind::Arm:
        do_arm(m, answer);
        break;
      case Kind::Confirm:
        do_confirm(m, answer);
        break;
      case Kind::Interrupt:
        do_interrupt(m, answer);
        break;
      case Kind::GiveUp:
        do_give_up(m, answer);
        break;
      case Kind::Commit:
        do_commit(m, answer);
        break;
      case Kind::Release:
        do_release(m, answer);
        break;
      case Kind::Forget:
        do_forget(m, answer);
        break;
      case Kind::Attach:
        do_attach(m, answer);
        break;
      case Kind::Depart:
        do_depart(m, answer);
        break;
    }
  } catch (const std::exception& error) {
    spdlog::error("step {} failed: {}", name, error.what());
    answer["ok"] = false;
    answer["error"] = error.what();
  }
  send(from, std::move(answer));
}

// Takes over what the lead knows of the job; an agent that is in the job already learns the new namespaces.
void Agent::adopt_record(const json& record) {
  for (const json& space : record.at("spaces")) {
    const Namespace ns = space.get<Namespace>();
    if (spaces_.find(ns.name)) continue;
    for (const NamespaceNode& node : ns.nodes) peers_->add(node.uid, node.address);
    pmix_->add_namespace(ns, options_.malleable ? kUniverse : 0);
    spaces_.add(ns);
  }
  fence_ = Fence{std::max(fence_.value, record.at("fence").get<std::int64_t>())};
  next_space_ = std::max(next_space_, record.at("nextSpace").get<std::int64_t>());
  if (started_) return;
  started_ = true;
  hub_uid_ = record.at("hub");
  membership_ = record.at("membership").get<Membership>();
}

void Agent::do_prepare(const json& m, json&) {
  adopt_record(m.at("record"));
  if (auto plan = m.find("plan"); plan != m.end()) {
    plan_ = plan->get<ChangePlan>();
    followed_ = ChangeState::Preparing;
    pages_.set_changing(local_ranks(), true);
  }
}

void Agent::do_launch(const json& m, json&) {
  const Namespace* ns = spaces_.find(m.at("space"));
  if (!ns) throw std::runtime_error("unknown namespace " + m.at("space").get<std::string>());
  launch_ranks(*ns, plan_.has_value());
}

void Agent::order_all(const RankOrder& order) {
  for (const ProcId& proc : local_ranks()) link_->send(proc, order);
}

void Agent::do_fetch(const std::string& from, json answer) {
  if (!plan_) return;
  std::string why;
  for (const ProcId& proc : local_ranks())
    if (!link_->connected(proc))
      why = "rank " + proc.nspace + "/" + std::to_string(proc.rank) + " is not connected to its agent";
  fetch_modex([this, from, answer = std::move(answer), why](const std::string& error) mutable {
    const std::string& wrong = why.empty() ? error : why;
    answer["ok"] = wrong.empty();
    answer["error"] = wrong;
    send(from, answer);
  });
}

void Agent::do_build(const json&, json& answer) {
  if (!plan_) return;
  followed_ = ChangeState::Building;
  RankOrder order;
  order.kind = RankOrder::Kind::Build;
  order.change = plan_->id;
  order.port = plan_->port;
  order.joining = plan_->joins(options_.pod_uid);
  order.leaving = plan_->leaves(options_.pod_uid);
  order.staying_count = plan_->staying_ranks();
  order.leaving_count = plan_->leaving_ranks();
  order.joining_count = plan_->joining_ranks();
  order.epoch = plan_->next.value;
  answer["probes"] = pages_.highest_probe(local_ranks());
  order_all(order);
}

void Agent::do_read_probes(const json&, json& answer) {
  followed_ = ChangeState::Ready;
  answer["probes"] = pages_.highest_probe(local_ranks());
}

void Agent::do_arm(const json& m, json& answer) {
  answer["ok"] = pages_.arm(local_ranks(), m.at("iteration"));
  answer["probes"] = pages_.highest_probe(local_ranks());
}

void Agent::do_confirm(const json& m, json&) {
  followed_ = ChangeState::Window;
  pages_.set(local_ranks(), arm_word(m.at("iteration"), ArmState::Confirmed));
}

void Agent::do_interrupt(const json& m, json&) {
  if (!plan_) return;
  for (const json& p : m.at("dead")) pmix_->notify_dead({p.at(0), p.at(1)});
  RankOrder order;
  order.kind = RankOrder::Kind::Cancel;
  order.change = plan_->id;
  order_all(order);
}

void Agent::do_give_up(const json& m, json& answer) {
  if (!plan_) return;
  followed_ = ChangeState::RollingBack;
  if (plan_->joins(options_.pod_uid)) {
    launcher_.kill_all(SIGKILL);
    return;
  }
  pages_.set(local_ranks(), 0);
  do_interrupt(m, answer);
}

void Agent::do_commit(const json& m, json&) {
  membership_ = m.at("membership").get<Membership>();
  followed_ = ChangeState::Draining;
  pages_.set(local_ranks(), 0);
  pages_.set_changing(local_ranks(), false);
}

void Agent::do_release(const json&, json&) {
  if (!plan_) return;
  RankOrder order;
  order.kind = RankOrder::Kind::Release;
  order.change = plan_->id;
  order_all(order);
}

void Agent::do_forget(const json& m, json&) {
  for (const json& name : m.at("spaces")) drop_namespace(name);
  for (const json& uid : m.at("pods")) {
    spaces_.pod_gone(uid);
    leave_requests_.erase(uid.get<std::string>());
    // The hub still has to send the leavers home, and a leaving hub to hear our answer.
    if (!is_hub() && uid != hub_uid_) peers_->drop(uid);
  }
  plan_.reset();
  followed_ = ChangeState::Stable;
  pages_.set_changing(local_ranks(), false);
}

}  // namespace empi::agent

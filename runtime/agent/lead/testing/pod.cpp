// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/pod.hpp"

#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/agent/lead/testing/program.hpp"
#include "runtime/agent/pod/fetch.hpp"
#include "runtime/base/backoff.hpp"
#include "runtime/base/json_text.hpp"

namespace empi::agent::histories {
namespace {

using namespace std::chrono_literals;

constexpr Patience kPatience{};
constexpr Ms kReadTimeout = 5s, kConnectTimeout = 2s, kFarewell = 3s;

// Counts the processor time of a scope in which a pod leads or talks.
class Measured {
 public:
  explicit Measured(Meter* meter) : meter_(meter && !meter->running ? meter : nullptr) {
    if (!meter_) return;
    meter_->running = true;
    began_ = now();
  }
  ~Measured() {
    if (!meter_) return;
    meter_->busy += now() - began_;
    meter_->running = false;
  }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

 private:
  static std::chrono::nanoseconds now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  Meter* const meter_;
  std::chrono::nanoseconds began_{0};
};

}  // namespace

Pod* World::find(const std::string& uid) {
  const auto at = pods.find(uid);
  return at == pods.end() ? nullptr : at->second.get();
}

Pod::Pod(World& world, Member member, std::vector<std::string> tokens)
    : world_(world), member_(std::move(member)), tokens_(std::move(tokens)), inbox_(member_.uid) {
  later(Ms(world_.dice.below(100)), [this] { every_tick(); });
  later(Ms(world_.dice.below(1000)), [this] { every_second(); });
}

void Pod::later(Ms delay, std::function<void()> what) {
  world_.events.after(delay, [this, what = std::move(what)] { post(what); });
}

// One after the other, in order, and not while the process is stopped.
void Pod::post(std::function<void()> what) {
  reactor_free_ = std::max({reactor_free_, world_.events.now(), stalled_until_});
  world_.events.at(reactor_free_, [this, what = std::move(what)] {
    if (!alive_) return;
    if (world_.events.now() < stalled_until_) return post(what);
    what();
  });
}

void Pod::stall(Ms time) {
  const Time from = std::max(stalled_until_, world_.events.now()), until = world_.events.now() + time;
  if (until <= from) return;
  stalled_until_ = until;
  stalled_ += std::chrono::duration_cast<Ms>(until - from);
}

Ms Pod::since(const Contacts& contacts, const std::string& other) const {
  const auto at = contacts.find(other);
  if (at == contacts.end()) return Ms::max();
  return std::chrono::duration_cast<Ms>(world_.events.now() - at->second.when) -
         (stalled_ - at->second.stalled);
}

// Ours, while it measures us.
Meter* Pod::meter() const {
  return world_.meter && world_.meter->on && world_.meter->uid == uid() ? world_.meter : nullptr;
}

Moment Pod::moment() const { return {world_.events.now(), clock_.now(), 0}; }

void Pod::every_tick() {
  clock_.advance(world_.events.now());
  const int connected = world_.program->connected(*this);
  if (started_ && !over_ && std::exchange(connected_told_, connected) != connected)
    send_to_lead(Beat{.connected = connected});
  if (is_lead() && !over_) {
    const Measured measured(meter());
    lead_->tick(moment());
    follow_lead();
  }
  later(100ms, [this] { every_tick(); });
}

void Pod::every_second() {
  if (started_ && !over_) {
    if (is_lead()) {
      const Measured measured(meter());
      lead_->second(moment());
      follow_lead();
    }
    send_to_lead(whole_state());
  }
  later(1s, [this] { every_second(); });
}

void Pod::make_lead() { lead_.emplace(LeadIdentity{uid(), "job", true, kPatience.silence}); }

void Pod::follow_lead() {
  struct Follow {
    Pod& pod;
    void operator()(const SendMessage& a) const { pod.send_all(a.uids, a.message); }
    void operator()(const AdmitPod& a) const { pod.add_peer(a.uid); }
    void operator()(const PartFromPod& a) const { pod.part_from(a.uid, true); }
    void operator()(const DropPod& a) const {
      if (std::max(pod.silence_of(a.uid), pod.distance_to(a.uid)) >= 9500ms)
        pod.world_.unreachable.insert(a.uid);
      pod.drop_peer(a.uid);
    }
  };
  for (const LeadAction& action : lead_->take_actions()) std::visit(Follow{*this}, action);
  if (lead_->verdict()) end(*lead_->verdict());
}

ApiAnswer Pod::start(const StartRequest& request) {
  if (const auto refusal = refusal_of(request, uid())) return *refusal;
  make_lead();
  lead_->raise_fence(request.fence);
  lead_->start(request, moment());
  started_ = true;
  lead_uid_ = uid();
  membership_ = lead_->membership();
  follow_lead();
  return {};
}

ApiAnswer Pod::change(const ChangeRequest& request) {
  if (over_ || !is_lead()) return {409, "not the lead"};
  const Measured measured(meter());
  ApiAnswer answer = lead_->begin_change(request, moment());
  follow_lead();
  return answer;
}

ApiAnswer Pod::cancel(const std::string& id, Fence fence) {
  if (over_ || !is_lead()) return {409, "not the lead"};
  ApiAnswer answer = lead_->cancel_change(id, fence, moment());
  follow_lead();
  return answer;
}

Beat Pod::whole_state() const {
  return {.connected = world_.program->connected(*this), .hello = hello_, .ended = ended_, .queue = queue_};
}

void Pod::report(RankReport report) {
  post([this, report = std::move(report)] {
    if (report.kind == RankReport::Kind::Hello) hello_.push_back(report.proc);
    if (report.kind == RankReport::Kind::Queue) queue_ = report;
    if (over_) return;
    reports_.add(report, world_.events.now());
    send_reports();
  });
}

void Pod::send_reports() {
  const auto running = static_cast<std::size_t>(
      std::ranges::count_if(ranks_, [&](const ProcId& proc) { return world_.program->is_alive(proc); }));
  for (const RankReported& message : reports_.take(running, world_.events.now())) send(lead_uid_, message);
  if (reports_.empty() || std::exchange(reports_timed_, true)) return;
  later(GatheredReports::kSoon, [this] {
    reports_timed_ = false;
    if (!over_) send_reports();
  });
}

void Pod::send_to_lead(const Message& message) {
  for (const RankReported& report : reports_.take_all()) send(lead_uid_, report);
  send(lead_uid_, message);
}

void Pod::rank_ended(const RankExited& exit) {
  post([this, exit] {
    ended_.push_back(exit);
    if (!over_) send_to_lead(exit);
  });
}

void Pod::collective(const std::string& kind, RankRuns procs, std::function<void()> done) {
  post([this, kind, procs = std::move(procs), done = std::move(done)] {
    if (over_) return;
    send(lead_uid_, requests_.open(Collective{0, kind, procs, ""}, "", [done](const Reply&) { done(); }));
  });
}

// --- the channel

void Pod::add_peer(const std::string& to) {
  for (Contacts* contacts : {&heard_, &reached_})
    contacts->try_emplace(to, Heard{world_.events.now(), stalled_});
  inbox_.admit(to);
  if (to == uid() || peers_.contains(to)) return;
  auto peer = std::make_shared<Peer>();
  peer->outbox = std::make_unique<Outbox>(uid(), to, "s" + std::to_string(++sessions_), kPatience);
  peers_[to] = std::move(peer);
}

void Pod::drop_peer(const std::string& to) {
  peers_.erase(to);
  requests_.fail(to, kPmixError);
}

void Pod::part_from(const std::string& to, bool dismiss) {
  const auto peer = peers_.extract(to);
  if (peer) {
    peer.mapped()->outbox->part();
    // What is queued still goes, see attempted().
  }
  if (dismiss)
    world_.events.after(kFarewell, [this, to] {
      if (!peers_.contains(to)) inbox_.dismiss(to);
    });
  requests_.fail(to, kPmixError);
}

void Pod::send_all(const std::vector<std::string>& uids, const Message& message) {
  const Measured measured(meter());
  std::optional<MessageBytes> bytes;
  for (const std::string& to : uids) {
    if (to == uid()) {
      post([this, message] { receive(message, uid()); });
      continue;
    }
    const bool known = peers_.contains(to);
    if (!known && (is_lead() || !membership_.find(to))) continue;
    if (!known) add_peer(to);
    if (!bytes) {
      bytes = encode(message);
      if (meter()) meter()->encoded += bytes->size();
    }
    if (meter()) ++meter()->said;
    peers_[to]->outbox->put(*bytes);
    pump(to);
  }
}

void Pod::pump(const std::string& to) {
  const auto at = peers_.find(to);
  if (at == peers_.end() || at->second->busy) return;
  attempted(to, at->second, Attempt::Delivered);
}

// What the sender's and the receiver's threads make of a batch.
Batch Pod::through_bytes(const Batch& batch, const Pod& to) const {
  if (!meter() && !to.meter()) return batch;
  std::vector<std::uint8_t> bytes;
  {
    const Measured measured(meter());
    bytes = json_text::cbor(batch);
  }
  const Measured measured(to.meter());
  return json_text::from_cbor({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).get<Batch>();
}

// After an attempt, or before the first (`peer` is not busy then): the next one.
void Pod::attempted(const std::string& to, const std::shared_ptr<Peer>& peer, Attempt attempt) {
  Ms pause{0};
  if (std::exchange(peer->busy, false)) {
    if (attempt == Attempt::Delivered) reached_[to] = {world_.events.now(), stalled_};
    const Standing standing = peer->outbox->attempted(attempt, clock_.now());
    if (standing == Standing::Silent || standing == Standing::Stranger) {
      const bool reached = peer->outbox->reached();
      post([this, to, peer, standing, reached] {
        const auto at = peers_.find(to);
        if (over_ || at == peers_.end() || at->second != peer) return;
        const bool newcomer = is_lead() && lead_->is_newcomer(to);
        if (newcomer && !reached && standing != Standing::Stranger) return;
        pod_lost(to, "its agent cannot be reached");
      });
    }
    if (attempt != Attempt::Delivered)
      pause = std::chrono::duration_cast<Ms>(backoff(20ms, 500ms, peer->outbox->failures() - 1));
  }
  if (peer->outbox->over()) return;
  const Batch* next = peer->outbox->next();
  if (!next) return;
  peer->busy = true;
  world_.events.after(pause, [this, to, peer, batch = *next] {
    if (!alive_) return;
    // Its threads stand still, too.
    if (world_.events.now() < stalled_until_)
      return world_.events.at(stalled_until_, [this, to, peer] { attempted(to, peer, Attempt::Broken); });
    Pod* other = world_.find(to);
    const Time now = world_.events.now();
    const auto done = [this, to, peer](Ms delay, Attempt result) {
      world_.events.after(delay, [this, to, peer, result] {
        if (alive_) attempted(to, peer, result);
      });
    };
    if (world_.network.is_cut(uid(), to, now)) return done(kConnectTimeout, Attempt::NoRoad);
    if (!other || !other->alive_ || world_.network.refuses(to, now)) return done(1ms, Attempt::NoRoad);
    const Batch sent = through_bytes(peer->outbox->next() ? *peer->outbox->next() : batch, *other);
    const std::string token = peer->outbox->token(tokens_);
    Fate fate = world_.network.fate();
    const auto stopped = std::chrono::ceil<Ms>(other->stalled_until_ - now);
    if (stopped > 0ms && fate == Fate::Arrived) fate = stopped > kReadTimeout ? Fate::Late : Fate::Arrived;
    if (!world_.meter)
      for (const std::string& message : sent.messages)
        ++world_.messages[decode_message(message).index()][static_cast<std::size_t>(fate)];
    const bool late = !world_.meter && world_.dice.percent(3);
    const Ms there = std::max(stopped, 0ms) + world_.dice.delay(0, late ? 300 : 3);
    const auto take = [this, to, sent, token] {
      Pod* receiver = world_.find(to);
      return receiver && receiver->alive_ ? receiver->arrive(sent, token) : Attempt::NoRoad;
    };
    switch (fate) {
      case Fate::Lost:
        return done(world_.dice.delay(1, 5000), Attempt::Broken);
      case Fate::Late:
        world_.events.after(std::max(there, kReadTimeout + world_.dice.delay(0, 3000)), [take] { take(); });
        return done(kReadTimeout, Attempt::Broken);
      case Fate::AnswerLost:
        world_.events.after(there, [take] { take(); });
        return done(std::max(there, world_.dice.delay(1, 5000)), Attempt::Broken);
      case Fate::Arrived:
        world_.events.after(there, [done, take] { done(0ms, take()); });
    }
  });
}

Attempt Pod::arrive(const Batch& batch, const std::string& token) {
  if (std::ranges::find(tokens_, token) == tokens_.end()) return Attempt::WrongToken;
  switch (inbox_.accept(batch)) {
    case Arrival::NotOurs:
    case Arrival::Dismissed:
      return Attempt::Stranger;
    case Arrival::Repeated:
      break;
    case Arrival::New:
      heard_[batch.from] = {world_.events.now(), stalled_};
      post([this, batch] {
        for (const std::string& bytes : batch.messages) {
          Message message;
          {
            const Measured measured(meter());
            message = decode_message(bytes);
          }
          if (meter()) ++meter()->heard;
          receive(message, batch.from);
        }
      });
  }
  return Attempt::Delivered;
}

// --- messages

void Pod::receive(const Message& message, const std::string& from) {
  if (over_) return;
  if (lead_) {
    const Measured measured(meter());
    lead_->heard(from, moment());
    if (lead_->on(message, from, moment())) return follow_lead();
  }
  std::visit(
      [&](const auto& m) {
        if constexpr (requires { on_message(m, from); }) on_message(m, from);
      },
      message);
}

void Pod::on_message(const Reply& m, const std::string&) { requests_.answered(m); }
void Pod::on_message(const ModexOfPod& m, const std::string& from) { send(from, Reply{.id = m.id}); }
void Pod::on_message(const PassedOn& m, const std::string&) { receive(decode_message(m.message), m.from); }
void Pod::on_message(const End& m, const std::string&) { end(m.outcome); }

void Pod::on_message(const NewLead& m, const std::string& from) {
  if (m.membership.epoch < membership_.epoch) return send(from, LeadKnown{});
  lead_uid_ = m.uid;
  connected_told_ = -1;
  membership_ = m.membership;
  for (const Message& request : requests_.of_lead()) send(lead_uid_, request);
  send(from, LeadKnown{});
  if (!membership_.find(from)) part_from(from, false);
  if (!is_lead()) return;
  lead_->begin_to_lead(moment());
  follow_lead();
}

void Pod::on_message(const HandOver& m, const std::string& from) {
  if (lead_) return;
  make_lead();
  lead_->take_over(m, moment());
  adopt(m.record);
  send(from, HandedOver{});
}

void Pod::on_message(const Dropped& m, const std::string&) {
  if (m.membership.epoch >= membership_.epoch) membership_ = m.membership;
  if (!is_lead() && !m.uid.empty()) drop_peer(m.uid);
}

void Pod::pod_lost(const std::string& uid, const std::string& why) {
  if (over_) return;
  if (is_lead()) {
    lead_->pod_lost(uid, why, moment());
    return follow_lead();
  }
  drop_peer(uid);
  if (uid == lead_uid_) end({JobResult::Failed, "lost the lead (pod " + uid + "): " + why, 1, {}, {}});
}

void Pod::end(const JobOutcome& outcome) {
  if (over_) return;
  over_ = true;
  outcome_ = outcome;
  world_.tell("end of " + uid() + ": " + std::string(to_string(outcome.result)) + " " + outcome.reason);
  world_.on_end(*this);
  world_.program->pod_died(*this);
  later(kFarewell, [this] { alive_ = false; });
}

// --- steps

void Pod::adopt(const JobRecord& record) {
  for (const Namespace& space : record.spaces) adopt(space);
  if (started_ && record.epoch >= membership_.epoch) lead_uid_ = record.lead;
  if (started_) return;
  membership_ = record.membership();
  started_ = true;
  lead_uid_ = record.lead;
}

void Pod::adopt(const Namespace& space) {
  if (spaces_.find(space.name)) return;
  for (const NamespaceNode& node : space.nodes) add_peer(node.uid);
  spaces_.add(space);
}

void Pod::answer(const std::string& to, const Step& step, StepAnswer answer) {
  send(to, StepDone{step.change, step.number, std::move(answer)});
}

void Pod::fetch(const Step& m, const std::string& from) {
  const auto ask = [this](const Member& other, const Fetch::Answered& answered) {
    send(other.uid, requests_.open(ModexOfPod{0, other.nspace}, other.uid, [answered](const Reply& r) {
      answered(r.status == kPmixSuccess ? "" : "no connection data");
    }));
    if (!peers_.contains(other.uid) && other.uid != uid())
      post([this, to = other.uid] { requests_.fail(to, kPmixError); });
  };
  Fetch::begin(
      plan_->joins(uid()) ? plan_->old.members : plan_->add, 0, ask,
      [this, m, from](const std::string& error) { answer(from, m, {.ok = error.empty(), .error = error}); });
}

void Pod::on_message(const Step& m, const std::string& from) {
  if (m.kind == StepKind::Fetch) return plan_ ? fetch(m, from) : void();
  StepAnswer done;
  try {
    do_step(m, done);
  } catch (const std::exception& error) {
    done = {.ok = false, .error = error.what()};
  }
  answer(from, m, std::move(done));
}

void Pod::do_step(const Step& m, StepAnswer& done) {
  Program& program = *world_.program;
  switch (m.kind) {
    case StepKind::Prepare:
      adopt(m.record.value());
      if (!m.plan) break;
      plan_.emplace(*m.plan, membership_);
      if (!plan_->add.empty()) adopt(plan_->joiners);
      break;
    case StepKind::Launch:
      if (const Namespace* space = spaces_.find(m.space))
        if (const NamespaceNode* own = space->node_of_pod(uid())) {
          for (std::uint32_t i = 0; i < own->count; ++i) ranks_.insert({space->name, own->first + i});
          program.launch(*this, plan_.has_value());
        }
      break;
    case StepKind::Fetch:  // answers by itself
      break;
    case StepKind::Build:
      if (plan_) program.build(*this, *plan_);
      done.probes = program.probes();
      break;
    case StepKind::ReadProbes:
      done.probes = program.probes();
      break;
    case StepKind::Arm:
      done.ok = program.arm(m.iteration);
      done.probes = program.probes();
      break;
    case StepKind::Confirm:
      if (plan_) program.confirm(*this, *plan_, m.iteration);
      break;
    case StepKind::Interrupt:
      if (plan_) program.interrupt(*this, *plan_);
      break;
    case StepKind::GiveUp:
      if (plan_) program.give_up(*this, *plan_);
      break;
    case StepKind::Commit:
      membership_ = plan_.value().next_members();
      break;
    case StepKind::Release:
      if (plan_) program.release(*this);
      break;
    case StepKind::Terminate:
    case StepKind::Kill:
      program.end_ranks(*this, m.leavers, m.kind == StepKind::Kill ? 9 : 15);
      break;
    case StepKind::Forget:
      for (const std::string& name : m.spaces) spaces_.remove(name);
      for (const std::string& pod : m.pods)
        if (!is_lead() && pod != lead_uid_) drop_peer(pod);
      plan_.reset();
      break;
    case StepKind::Attach:
      if (plan_) program.attach(*this, *plan_);
      break;
    case StepKind::Depart:
      if (plan_) program.depart(*this, *plan_);
      break;
  }
}

}  // namespace empi::agent::histories

// The hub's part: starting the job, driving changes, ending.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "runtime/agent/agent.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

constexpr std::size_t kHistory = 32;

// The start uses two of the driver's steps, under numbers that no change uses.
constexpr std::uint64_t kStartPrepare = 1, kStartLaunch = 2;

std::string check_members(const std::vector<Member>& members) {
  std::set<std::string> uids, names;
  for (const Member& m : members) {
    if (m.uid.empty() || m.name.empty() || m.address.find(':') == m.address.npos)
      return "a member lacks uid, name or address (host:port)";
    if (m.slots < 1)
      return "member " + m.name + " has " + std::to_string(m.slots) + " slots: expected at least 1";
    if (!uids.insert(m.uid).second) return "uid " + m.uid + " is given twice";
    if (!names.insert(m.name).second) return "name " + m.name + " is given twice";
  }
  return "";
}

}  // namespace

nlohmann::json Agent::job_record() const {
  json spaces = json::array();
  for (const auto& [name, ns] : spaces_.all()) spaces.push_back(ns);
  return {{"fence", fence_.value},
          {"membership", membership_},
          {"hub", hub_uid_},
          {"nextSpace", next_space_},
          {"spaces", spaces}};
}

MembershipView Agent::view() const {
  MembershipView v;
  v.uid = options_.pod_uid;
  v.fence = fence_;
  v.membership = membership_;
  const bool driving = is_hub() && (driver_.active() || driver_.state() == ChangeState::Failed);
  v.state = driving ? driver_.state() : followed_;
  v.change = driving ? driver_.plan().id : plan_ ? plan_->id : "";
  v.outcome = outcome_;
  v.ending = ending_;
  v.survives_loss = is_hub() && tasks_ && queue_keeper_.has_value();
  for (const auto& [proc, count] : parked_)
    if (const auto owner = spaces_.owner(proc); owner && membership_.find(owner->uid))
      v.parked_helpers += count;
  for (const std::string& uid : leave_requests_)
    if (membership_.find(uid)) v.leave_requests.push_back(uid);
  return v;
}

std::string Agent::describe(const ProcId& proc) const {
  const auto owner = spaces_.owner(proc);
  const std::string pod = owner ? owner->host : "?";
  if (const Member* member = owner ? membership_.find(owner->uid) : nullptr)
    return "rank " +
           std::to_string(membership_.world_rank(member->uid) +
                          static_cast<int>(proc.rank - member->first_rank)) +
           " (pod " + pod + ")";
  return "joining rank " + proc.nspace + "/" + std::to_string(proc.rank) + " (pod " + pod + ")";
}

ApiAnswer Agent::check_controller(Fence fence) {
  if (fence < fence_)
    return refuse(409, "fence " + std::to_string(fence.value) + " is stale: another controller holds fence " +
                           std::to_string(fence_.value));
  fence_ = fence;
  return {};
}

ApiAnswer Agent::begin_start(const StartRequest& request) {
  if (request.members.empty()) return refuse(400, "no members: expected at least this pod");
  if (const std::string wrong = check_members(request.members); !wrong.empty()) return refuse(400, wrong);
  if (request.members.front().uid != options_.pod_uid)
    return refuse(
        409, "the first member is " + request.members.front().uid + ", but this is pod " + options_.pod_uid);
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (started_) {  // the controller repeats itself, after a crash say
    const bool same = membership_.epoch.value == 1 && std::ranges::equal(request.members, membership_.members,
                                                                         {}, &Member::uid, &Member::uid);
    return same ? ApiAnswer{200, json(view()).dump()}
                : refuse(409,
                         "the job is running already, in epoch " + std::to_string(membership_.epoch.value));
  }
  started_ = true;
  hub_uid_ = options_.pod_uid;
  membership_ = {Epoch{1}, request.members};
  const Namespace ns = lay_out(options_.job_name + "." + std::to_string(next_space_++), membership_.members);
  start_step_ = kStartPrepare;
  json record = job_record();
  record["spaces"] = json::array({ns});
  for (const Member& member : membership_.members) {
    peers_->add(member.uid, member.address);
    if (member.uid != options_.pod_uid) last_heard_[member.uid] = Clock::now();
    starting_.insert(member.uid);
    send(member.uid, {{"op", "step"}, {"kind", "prepare"}, {"number", kStartPrepare}, {"record", record}});
  }
  spdlog::info("starting {} ranks in {} pods", membership_.ranks(), membership_.members.size());
  return {200, json(view()).dump()};
}

ApiAnswer Agent::begin_change(const ChangeRequest& request) {
  if (request.id.empty() || request.id.size() > 64)
    return refuse(
        400, "the change's id has " + std::to_string(request.id.size()) + " characters: expected 1 to 64");
  if (const std::string wrong = check_members(request.add); !wrong.empty()) return refuse(400, wrong);
  if (!started_ || over_) return refuse(409, over_ ? "the job is over" : "the job has not been started");
  if (membership_.lead().uid != options_.pod_uid || !is_hub())
    return refuse(409, "pod " + options_.pod_uid + " is not the lead: ask " + membership_.lead().uid +
                           " at " + membership_.lead().address);
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (!options_.malleable) return refuse(409, "the job is rigid: its size cannot change");
  for (const ChangeStatus& past : history_)
    if (past.request.id == request.id) return {200, json(past).dump()};  // asked again
  if (driver_.active() || handing_over_) {
    if (driver_.plan().id == request.id) return {200, json(driver_.status()).dump()};
    return refuse(409, "change " + driver_.plan().id + " is in hand: one at a time");
  }
  if (request.epoch != membership_.epoch)
    return refuse(409, "epoch " + std::to_string(request.epoch.value) + " is stale: the job is in epoch " +
                           std::to_string(membership_.epoch.value));
  if (ending_) return refuse(409, "the job is ending: a rank has finalised");
  for (const std::string& uid : request.remove)
    if (!membership_.find(uid)) return refuse(400, "cannot remove " + uid + ": it is no member");
  for (const Member& m : request.add)
    if (membership_.find(m.uid)) return refuse(400, "cannot add " + m.uid + ": it is a member already");
  if (std::set(request.remove.begin(), request.remove.end()).size() != request.remove.size())
    return refuse(400, "a pod is to be removed twice");
  if (request.add.empty() && request.remove.empty())
    return refuse(400, "the change adds and removes nothing");
  if (request.remove.size() == membership_.members.size())
    return refuse(400, "the change removes every old member: expected at least one to stay");
  if (request.deadline_ms <= 0)
    return refuse(
        400, "deadlineMillis is " + std::to_string(request.deadline_ms) + ": expected a positive number");
  if (starting_.size() || exit_codes_.size())
    return refuse(409, "the job is still starting, or ends already");

  driver_.begin(request, membership_, options_.job_name + "." + std::to_string(next_space_++), hello_,
                Clock::now());
  driver_.are_gone(lost_ranks_);
  spdlog::info("change {}: {} from {} to {} ranks", request.id, request.kind(), driver_.status().from_ranks,
               driver_.status().to_ranks);
  for (const Member& member : driver_.plan().add) peers_->add(member.uid, member.address);
  perform_steps();
  return {200, json(driver_.status()).dump()};
}

// Sends out what the driver wants done, and follows what it has decided.
void Agent::perform_steps() {
  if (over_ || !is_hub()) return;
  for (const DriverStep& next : driver_.take_steps()) step(next);
  if (driver_.state() == ChangeState::Failed) {
    if (!over_) fail_job(driver_.status().reason, 1, last_tail_);
  } else if (driver_.state() == ChangeState::Stable && !driver_.status().outcome.empty() &&
             driver_.plan().id != reported_change_) {
    change_over();
  }
}

void Agent::step(const DriverStep& s) {
  using Kind = DriverStep::Kind;
  const ChangePlan& plan = driver_.plan();
  json m = {{"op", "step"}, {"kind", to_string(s.kind)}, {"number", s.number}, {"change", plan.id}};
  json dead = json::array();
  for (const ProcId& p : s.dead) dead.push_back({p.nspace, p.rank});
  switch (s.kind) {
    case Kind::Prepare: {
      json record = job_record();
      if (!plan.add.empty()) record["spaces"].push_back(plan.joiners);
      m["record"] = record;
      m["plan"] = plan;
      break;
    }
    case Kind::Launch:
      m["space"] = plan.joiners.name;
      break;
    case Kind::Arm:
    case Kind::Confirm:
      m["iteration"] = s.iteration;
      break;
    case Kind::Interrupt:
      m["dead"] = dead;
      break;
    case Kind::Attach:
      m["address"] = s.address;
      break;
    case Kind::GiveUp:
      m["dead"] = dead;
      deliver(hub_.end_change(plan.port, plan.joiners.name));
      spdlog::info("change {} is rolled back: {}", plan.id, driver_.status().reason);
      break;
    case Kind::Commit:
      m["membership"] = plan.next_members();
      break;
    case Kind::Forget: {
      json spaces = json::array(), pods = json::array();
      const bool committed = driver_.state() == ChangeState::Draining;
      if (committed) {
        for (const std::string& uid : plan.remove) {
          pods.push_back(uid);
          spaces_.pod_gone(uid);
        }
        for (const std::string& name : spaces_.empty_spaces()) spaces.push_back(name);
      } else {
        for (const Member& member : plan.add) pods.push_back(member.uid);
        if (!plan.add.empty()) spaces.push_back(plan.joiners.name);
      }
      m["spaces"] = spaces;
      m["pods"] = pods;
      break;
    }
    default:
      break;
  }
  spdlog::debug("change {}: {} in state {} to {} agents", plan.id, to_string(s.kind),
                to_string(driver_.state()), s.uids.size());
  for (const std::string& uid : s.uids) send(uid, m);
}

void Agent::on_step_done(const json& m, const std::string& from) {
  const std::string change = m.value("change", "");
  if (change.empty()) {  // of the start
    if (m.at("number") != start_step_) return;
    if (!m.at("ok")) return fail_job("pod " + from + " could not start: " + m.value("error", ""), 1, {});
    starting_.erase(from);
    if (!starting_.empty() || start_step_ != static_cast<int>(kStartPrepare)) return;
    start_step_ = kStartLaunch;
    for (const Member& member : membership_.members) {
      starting_.insert(member.uid);
      send(member.uid,
           {{"op", "step"}, {"kind", "launch"}, {"number", kStartLaunch}, {"space", member.nspace}});
    }
    return;
  }
  if (change != driver_.plan().id) return;
  const StepAnswer answer{m.at("ok"), m.value("probes", std::uint64_t{0}), m.value("error", "")};
  driver_.answered(m.at("number"), from, answer, Clock::now());
  perform_steps();
}

void Agent::on_remote_report(const json& m, const std::string& from) {
  const auto report = decode_report(m.at("report").get<std::string>());
  if (!report) return;
  if (report->kind == RankReport::Kind::Hello) {
    hello_.insert(report->proc);
    tasks_ = tasks_ || report->tasks;
  }
  if (report->kind == RankReport::Kind::Queue) on_queue_report(*report);
  if (report->kind == RankReport::Kind::WorldDropped) deliver(hub_.end_change(report->address, ""));
  const bool committed =
      driver_.state() == ChangeState::Committed || driver_.state() == ChangeState::Draining;
  // A leaver goes, the job does not.
  const bool leaver = (committed || driver_.has_left(report->proc)) && driver_.plan().leaves(from);
  if (report->kind == RankReport::Kind::Finalizing && membership_.find(from) && !leaver) ending_ = true;
  if (report->kind == RankReport::Kind::Adapted)
    for (ChangeStatus& past : history_)
      if (past.request.id == report->change)
        past.times.lost_ms = std::max(past.times.lost_ms, report->lost_ms);
  if (report->parked > 0 && std::exchange(parked_[report->proc], report->parked) != report->parked)
    spdlog::warn("{} has parked {} helper threads", describe(report->proc), report->parked);
  spdlog::debug("{}/{} reports {} {} {}", report->proc.nspace, report->proc.rank,
                static_cast<int>(report->kind), report->ok, report->error);
  driver_.reported(*report, Clock::now());
  perform_steps();
}

void Agent::rank_gone(const ProcId& proc, const std::string&, const RankExit& exit, bool may_exit,
                      const std::vector<std::string>& tail) {
  const bool good_end = exit.signal == 0 && may_exit;
  std::string what = describe(proc);
  if (exit.signal)
    what += " was killed by signal " + std::to_string(exit.signal);
  else if (exit.code)
    what += " exited with code " + std::to_string(exit.code);
  else
    what += " exited without MPI_Finalize";
  spaces_.rank_exited(proc);
  deliver(hub_.recheck());
  const auto owner = spaces_.owner(proc);
  const bool member = owner && membership_.find(owner->uid);
  if (driver_.active() && owner && driver_.is_union_member(owner->uid)) {
    last_tail_ = tail;
    if (tasks_ && member && !good_end && !survives(exit)) return member_failed(what, exit, tail);
    driver_.rank_exited(proc, good_end, what, Clock::now());
  } else if (member && !good_end) {
    if (!survives(exit)) return member_failed(what, exit, tail);
    rank_lost(proc, owner->uid, what, tail);
  }
  if (member && tasks_ && !good_end) {
    lost_ranks_.insert(proc);
  } else if (member) {
    exit_codes_[proc] = exit.code;
    if (exit.code && first_failure_.result.empty()) first_failure_ = {"failed", what, exit.code, tail};
  }
  perform_steps();
  succeed_when_all_done();
}

// MPI_Abort ends the ranks of a communicator. Those of a joiner are joiners alone until the change is
// committed: the change is rolled back, the job goes on.
void Agent::rank_aborted(const ProcId& proc, const std::string& what, int status,
                         const std::vector<std::string>& tail) {
  const auto owner = spaces_.owner(proc);
  if (owner && membership_.find(owner->uid)) return fail_job(what, status, tail);
  if (!owner || !driver_.active() || !driver_.is_union_member(owner->uid)) return;  // dismissed already
  last_tail_ = tail;
  driver_.rank_exited(proc, false, what, Clock::now());
  perform_steps();
}

// A rank that exits without a word often follows another that has said why, whose report is under way.
void Agent::member_failed(const std::string& what, const RankExit& exit,
                          const std::vector<std::string>& tail) {
  if (exit.signal || !tail.empty()) return fail_job(what, exit.code, tail);
  reactor_.after(kPatienceForCause, [this, what, code = exit.code] { fail_job(what, code, {}); });
}

void Agent::succeed_when_all_done() {
  if (over_ || !is_hub() || membership_.members.empty()) return;
  const std::vector<ProcId> ranks = ranks_of(membership_.members);
  const auto has_ended = [&](const ProcId& p) { return exit_codes_.contains(p) || lost_ranks_.contains(p); };
  if (!std::ranges::all_of(ranks, has_ended)) return;
  // A rank may finalise MPI and then return a code of its own: the job ran to its end, and failed.
  const JobOutcome outcome =
      first_failure_.result.empty() ? JobOutcome{"succeeded", "", 0, {}} : first_failure_;
  std::set<std::string> told;
  for (const Member& member : membership_.members) told.insert(member.uid);
  if (driver_.active())
    for (const Member& member : driver_.plan().add) told.insert(member.uid);
  if (driver_.active())
    for (const Member& member : driver_.plan().old.members) told.insert(member.uid);
  for (const std::string& uid : told)
    if (uid != options_.pod_uid) send(uid, {{"op", "end"}, {"outcome", outcome}});
  end(outcome);
}

void Agent::dismiss(const std::string& uid, const std::string& reason) {
  send(uid, {{"op", "end"}, {"outcome", JobOutcome{"stopped", reason, 0, {}}}});
  last_heard_.erase(uid);
}

// The driver is back at Stable: keep the record, send home who has no place any more.
void Agent::change_over() {
  const ChangeStatus status = driver_.status();
  const ChangePlan plan = driver_.plan();
  reported_change_ = plan.id;
  history_.push_back(status);
  if (history_.size() > kHistory) history_.pop_front();
  spdlog::info("change {} {}{}{}: built in {:.0f} ms, pause {:.1f} ms", plan.id, status.outcome,
               status.reason.empty() ? "" : ", ", status.reason, status.times.build_ms,
               status.times.pause_ms);
  lost_.insert(driver_.lost().begin(), driver_.lost().end());
  if (status.outcome != "committed") {
    for (const Member& member : plan.add)
      dismiss(member.uid, "change " + plan.id + " was rolled back: " + status.reason);
    return drop_lost_members();
  }
  deliver(hub_.end_change(plan.port, ""));
  std::erase_if(exit_codes_, [&](const auto& e) { return !spaces_.find(e.first.nspace); });
  std::erase_if(hello_, [&](const ProcId& proc) { return !spaces_.find(proc.nspace); });
  for (const Member& member : plan.add) last_heard_[member.uid] = Clock::now();
  for (const std::string& uid : plan.remove)
    if (uid != options_.pod_uid) dismiss(uid, "released by change " + plan.id);
  if (plan.leaves(options_.pod_uid))
    hand_over_to(membership_.lead().uid);
  else
    drop_lost_members();
}

}  // namespace empi::agent

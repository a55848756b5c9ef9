// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/json.hpp"

#include "runtime/protocol/describe.hpp"
#include "runtime/protocol/integers.hpp"

namespace empi {

using nlohmann::json;

namespace {

// Leads of older images say by the id alone that a record is of a member they have lost.
ChangeOrigin origin_from(const json& status) {
  const bool lost = status.contains("origin")
                        ? status["origin"] == to_string(ChangeOrigin::LostMember)
                        : status.at("request").at("id").get<std::string>().starts_with("lost-");
  return lost ? ChangeOrigin::LostMember : ChangeOrigin::Controller;
}

}  // namespace

void to_json(json& j, const Member& m) {
  j = {{"uid", m.uid},     {"name", m.name},     {"address", m.address},
       {"slots", m.slots}, {"nspace", m.nspace}, {"firstRank", m.first_rank}};
}
void from_json(const json& j, Member& m) {
  j.at("uid").get_to(m.uid);
  j.at("name").get_to(m.name);
  j.at("address").get_to(m.address);
  m.slots = wire::integer_or(j, "slots", 1);
  m.nspace = j.value("nspace", "");
  m.first_rank = wire::integer_or(j, "firstRank", 0u);
}

void to_json(json& j, const Membership& m) { j = {{"epoch", m.epoch.value}, {"members", m.members}}; }
void from_json(const json& j, Membership& m) {
  wire::get_integer(j, "epoch", m.epoch.value);
  j.at("members").get_to(m.members);
}

void to_json(json& j, const ChangeRequest& r) {
  j = {{"id", r.id},         {"fence", r.fence.value},          {"epoch", r.epoch.value}, {"add", r.add},
       {"remove", r.remove}, {"deadlineMillis", r.deadline_ms}, {"cause", r.cause}};
}
void from_json(const json& j, ChangeRequest& r) {
  j.at("id").get_to(r.id);
  wire::get_integer(j, "fence", r.fence.value);
  wire::get_integer(j, "epoch", r.epoch.value);
  r.add = j.value("add", std::vector<Member>{});
  r.remove = j.value("remove", std::vector<std::string>{});
  wire::get_integer(j, "deadlineMillis", r.deadline_ms);
  r.cause = j.value("cause", "");
}

void to_json(json& j, const ChangeTimes& t) {
  j = {{"prepareMillis", t.prepare_ms}, {"buildMillis", t.build_ms},
       {"armMillis", t.arm_ms},         {"waitMillis", t.wait_ms},
       {"pauseMillis", t.pause_ms},     {"redistributeMillis", t.redistribute_ms},
       {"drainMillis", t.drain_ms},     {"lostMillis", t.lost_ms}};
}
void from_json(const json& j, ChangeTimes& t) {
  t.prepare_ms = j.value("prepareMillis", 0.0);
  t.build_ms = j.value("buildMillis", 0.0);
  t.arm_ms = j.value("armMillis", 0.0);
  t.wait_ms = j.value("waitMillis", 0.0);
  t.pause_ms = j.value("pauseMillis", 0.0);
  t.redistribute_ms = j.value("redistributeMillis", 0.0);
  t.drain_ms = j.value("drainMillis", 0.0);
  t.lost_ms = j.value("lostMillis", 0.0);
}

void to_json(json& j, const ChangeStatus& s) {
  j = {{"request", s.request},
       {"state", to_string(s.state)},
       {"outcome", to_string(s.outcome)},
       {"origin", to_string(s.origin)},
       {"reason", s.reason},
       {"fromRanks", s.from_ranks},
       {"toRanks", s.to_ranks},
       {"times", s.times},
       {"released", s.released},
       {"kind", s.request.kind()}};
  j["movedBytes"] = s.moved_bytes;
  j["repeatedIterations"] = s.repeated_iterations;
  if (s.ended_by) j["endedBy"] = to_string(*s.ended_by);
}
void from_json(const json& j, ChangeStatus& s) {
  j.at("request").get_to(s.request);
  s.state = change_state_from(j.at("state").get<std::string>()).value_or(ChangeState::Failed);
  s.outcome = change_outcome_from(j.value("outcome", "")).value_or(ChangeOutcome::Failed);
  s.origin = origin_from(j);
  s.reason = j.value("reason", "");
  s.ended_by = change_event_from(j.value("endedBy", ""));
  s.from_ranks = wire::integer_or(j, "fromRanks", 0);
  s.to_ranks = wire::integer_or(j, "toRanks", 0);
  s.times = j.value("times", ChangeTimes{});
  s.moved_bytes = wire::integer_or(j, "movedBytes", std::int64_t{0});
  s.repeated_iterations = wire::integer_or(j, "repeatedIterations", std::int64_t{0});
  s.released = j.value("released", std::vector<std::string>{});
}

void to_json(json& j, const ChangeRecord& r) {
  j = {{"id", r.id},
       {"kind", r.kind},
       {"outcome", to_string(r.outcome)},
       {"reason", r.reason},
       {"fromRanks", r.from_ranks},
       {"toRanks", r.to_ranks},
       {"times", r.times},
       {"movedBytes", r.moved_bytes},
       {"repeatedIterations", r.repeated_iterations}};
}
void from_json(const json& j, ChangeRecord& r) {
  j.at("id").get_to(r.id);
  r.kind = j.value("kind", "");
  r.outcome = change_outcome_from(j.value("outcome", "")).value_or(ChangeOutcome::Failed);
  r.reason = j.value("reason", "");
  r.from_ranks = wire::integer_or(j, "fromRanks", 0);
  r.to_ranks = wire::integer_or(j, "toRanks", 0);
  r.times = j.value("times", ChangeTimes{});
  r.moved_bytes = wire::integer_or(j, "movedBytes", std::int64_t{0});
  r.repeated_iterations = wire::integer_or(j, "repeatedIterations", std::int64_t{0});
}

void to_json(json& j, const TaskSample& t) {
  j = {{"pattern", t.queue.pattern == Pattern::MasterWorker ? "master-worker" : "spmd"},
       {"phase", t.queue.phase},
       {"total", t.queue.total},
       {"done", t.queue.done},
       {"queued", t.queue.queued},
       {"ended", t.ended},
       {"taskSeconds", t.task_s},
       {"taskSeconds2", t.task_s2},
       {"longestSeconds", t.longest_s},
       {"busySeconds", t.busy_s}};
}
void from_json(const json& j, TaskSample& t) {
  t.queue.pattern = j.value("pattern", "") == "master-worker" ? Pattern::MasterWorker : Pattern::Spmd;
  t.queue.phase = wire::integer_or(j, "phase", std::uint64_t{0});
  t.queue.total = wire::integer_or(j, "total", std::uint64_t{0});
  t.queue.done = wire::integer_or(j, "done", std::uint64_t{0});
  t.queue.queued = wire::integer_or(j, "queued", std::uint64_t{0});
  t.ended = wire::integer_or(j, "ended", std::uint64_t{0});
  t.task_s = j.value("taskSeconds", 0.0);
  t.task_s2 = j.value("taskSeconds2", 0.0);
  t.longest_s = j.value("longestSeconds", 0.0);
  t.busy_s = j.value("busySeconds", 0.0);
}

void to_json(json& j, const WindowSample& s) {
  j = {{"index", s.index},
       {"widthSeconds", s.width_s},
       {"epoch", s.epoch},
       {"mixed", s.mixed},
       {"ranks", s.ranks},
       {"pods", s.pods},
       {"elapsedSeconds", s.elapsed_s},
       {"usefulSeconds", s.useful_s},
       {"maxUsefulSeconds", s.max_useful_s},
       {"maxPodUsefulSeconds", s.max_pod_useful_s},
       {"mpiSeconds", s.mpi_s},
       {"mpiCollectiveSeconds", s.mpi_collective_s},
       {"adaptSeconds", s.adapt_s},
       {"emulatedSeconds", s.emulated_s},
       {"mpiCalls", s.mpi_calls},
       {"mpiBytes", s.mpi_bytes},
       {"iterations", s.iterations},
       {"iterationSeconds", s.iteration_s},
       {"iterationSeconds2", s.iteration_s2},
       {"workUnits", s.work_units},
       {"progress", s.progress}};
  // Most programs have no wish and no tasks: then their samples need not say so.
  if (s.wish_max > 0) {
    j["wishMin"] = s.wish_min;
    j["wishMax"] = s.wish_max;
  }
  if (s.master_worker() || s.tasks.ended > 0 || s.tasks.busy_s > 0) j["tasks"] = s.tasks;
}
void from_json(const json& j, WindowSample& s) {
  wire::get_integer(j, "index", s.index);
  j.at("widthSeconds").get_to(s.width_s);
  s.epoch = wire::integer_or(j, "epoch", std::int64_t{0});
  s.mixed = j.value("mixed", false);
  s.ranks = wire::integer_or(j, "ranks", 0);
  s.pods = wire::integer_or(j, "pods", 0);
  s.elapsed_s = j.value("elapsedSeconds", 0.0);
  s.useful_s = j.value("usefulSeconds", 0.0);
  s.max_useful_s = j.value("maxUsefulSeconds", 0.0);
  s.max_pod_useful_s = j.value("maxPodUsefulSeconds", 0.0);
  s.mpi_s = j.value("mpiSeconds", 0.0);
  s.mpi_collective_s = j.value("mpiCollectiveSeconds", 0.0);
  s.adapt_s = j.value("adaptSeconds", 0.0);
  s.emulated_s = j.value("emulatedSeconds", 0.0);
  s.mpi_calls = wire::integer_or(j, "mpiCalls", std::uint64_t{0});
  s.mpi_bytes = wire::integer_or(j, "mpiBytes", std::uint64_t{0});
  s.iterations = wire::integer_or(j, "iterations", std::uint64_t{0});
  s.iteration_s = j.value("iterationSeconds", 0.0);
  s.iteration_s2 = j.value("iterationSeconds2", 0.0);
  s.work_units = j.value("workUnits", 0.0);
  s.progress = j.value("progress", -1.0);
  s.wish_min = wire::integer_or(j, "wishMin", 0);
  s.wish_max = wire::integer_or(j, "wishMax", 0);
  s.tasks = j.value("tasks", TaskSample{});
}

void to_json(json& j, const StartRequest& s) {
  j = {{"fence", s.fence.value},
       {"members", s.members},
       {"leaverGraceSeconds", s.leaver_grace.count()},
       {"probe", to_string(s.probe)},
       {"recover", s.recover}};
}
void from_json(const json& j, StartRequest& s) {
  wire::get_integer(j, "fence", s.fence.value);
  j.at("members").get_to(s.members);
  s.leaver_grace = std::chrono::seconds(wire::integer_or(j, "leaverGraceSeconds", kLeaverGrace.count()));
  const auto probe = probe_mode_from(j.value("probe", "all"));
  if (!probe) throw std::invalid_argument("probe is \"" + j.value("probe", "") + "\": expected all or root");
  s.probe = *probe;
  s.recover = j.value("recover", true);
}

void to_json(json& j, const LeadRequest& r) {
  j = {{"fence", r.fence.value}, {"lead", r.lead}, {"dead", r.dead}, {"reason", r.reason}};
  if (!r.members.empty()) j["epoch"] = r.epoch.value, j["members"] = r.members;
}
void from_json(const json& j, LeadRequest& r) {
  wire::get_integer(j, "fence", r.fence.value);
  j.at("lead").get_to(r.lead);
  j.at("dead").get_to(r.dead);
  r.reason = j.value("reason", "");
  if (j.contains("epoch")) wire::get_integer(j, "epoch", r.epoch.value);
  r.members = j.value("members", std::vector<std::string>{});
}

void to_json(json& j, const StopRequest& r) {
  j = {{"fence", r.fence.value}, {"reason", r.reason}};
  if (r.this_pod) j["thisPod"] = true;
  if (!r.pod.empty()) j["pod"] = r.pod;
}
void from_json(const json& j, StopRequest& r) {
  wire::get_integer(j, "fence", r.fence.value);
  r.reason = j.value("reason", StopRequest{}.reason);
  r.this_pod = j.value("thisPod", false);
  r.pod = j.value("pod", "");
}

void to_json(json& j, const JobOutcome& o) {
  j = {{"result", to_string(o.result)}, {"reason", o.reason}, {"exitCode", o.exit_code}, {"tail", o.tail}};
  if (o.last_change) j["lastChange"] = *o.last_change;
}
void from_json(const json& j, JobOutcome& o) {
  o.result = job_result_from(j.value("result", "")).value_or(JobResult::Failed);
  o.reason = j.value("reason", "");
  o.exit_code = wire::integer_or(j, "exitCode", 0);
  o.tail = j.value("tail", std::vector<std::string>{});
  if (auto change = j.find("lastChange"); change != j.end()) o.last_change = change->get<ChangeRecord>();
}

void to_json(json& j, const MembershipView& v) {
  j = {{"uid", v.uid},
       {"fence", v.fence.value},
       {"membership", v.membership},
       {"state", to_string(v.state)},
       {"change", v.change},
       {"outcome", v.outcome},
       {"ranks", v.ranks},
       {"ending", v.ending},
       {"survivesLoss", v.survives_loss},
       {"survivesLeadLoss", v.survives_lead_loss},
       {"recovering", v.recovering},
       {"parkedHelpers", v.parked_helpers},
       {"parkedSeconds", v.parked_seconds},
       {"leaveRequests", v.leave_requests},
       {"silent", v.silent},
       {"leadSilentSeconds", v.lead_silent_seconds},
       {"partitionSeconds", v.partition_seconds},
       {"checkpoint", wire::written(v.checkpoint)},
       {"notice", v.notice}};
}
void from_json(const json& j, MembershipView& v) {
  v.uid = j.value("uid", "");
  v.fence.value = wire::integer_or(j, "fence", std::int64_t{0});
  j.at("membership").get_to(v.membership);
  v.state = change_state_from(j.value("state", "Stable")).value_or(ChangeState::Failed);
  v.change = j.value("change", "");
  v.outcome = j.value("outcome", JobOutcome{});
  v.ranks = wire::integer_or(j, "ranks", 0);
  v.ending = j.value("ending", false);
  v.survives_loss = j.value("survivesLoss", false);
  v.survives_lead_loss = j.value("survivesLeadLoss", false);
  v.recovering = j.value("recovering", "");
  v.notice = j.value("notice", "");
  v.parked_helpers = wire::integer_or(j, "parkedHelpers", 0);
  v.parked_seconds = j.value("parkedSeconds", 0.0);
  v.leave_requests = j.value("leaveRequests", std::vector<std::string>{});
  v.silent = j.value("silent", std::vector<std::string>{});
  v.lead_silent_seconds = j.value("leadSilentSeconds", 0.0);
  v.partition_seconds = j.value("partitionSeconds", 0.0);
  if (auto news = j.find("checkpoint"); news != j.end()) wire::read(*news, v.checkpoint);
}

void to_json(json& j, const Report& r) {
  j = {{"membership", r.view}, {"changes", r.changes}, {"windows", r.windows}};
}
void from_json(const json& j, Report& r) {
  j.at("membership").get_to(r.view);
  j.at("changes").get_to(r.changes);
  j.at("windows").get_to(r.windows);
}

}  // namespace empi

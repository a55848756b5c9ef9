// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pod/pod.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kForTheAnswer = 20ms;  // to leave, before the agent ends

}  // namespace

// --- Controllers.

void Pod::make_lead() { lead_.emplace(LeadIdentity{self_.uid, self_.job, self_.malleable, self_.partition}); }

void Pod::follow_lead() {
  struct Follow {
    Pod& pod;
    void operator()(const SendMessage& a) const { pod.send_all(a.uids, a.message); }
    void operator()(const AdmitPod& a) const { pod.edges_.admit(a.uid, a.address); }
    void operator()(const PartFromPod& a) const { pod.dismiss(a.uid); }
    void operator()(const DropPod& a) const { pod.drop(a.uid); }
  };
  for (const LeadAction& action : lead_->take_actions()) std::visit(Follow{*this}, action);
  if (lead_->verdict()) end(*lead_->verdict());
}

ApiAnswer Pod::check_controller(Fence fence) {
  return lead_ ? lead_->check_controller(fence) : check_fence(fence, fence_);
}

ApiAnswer Pod::start(const StartRequest& request) {
  if (const auto refusal = refusal_of(request, self_.uid)) return *refusal;
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (started_) {  // the controller repeats itself, after a crash say
    const Membership now = view().membership;
    const bool same = now.epoch.value == 1 &&
                      std::ranges::equal(request.members, now.members, {}, &Member::uid, &Member::uid);
    return same ? ApiAnswer{200, json_text::safe_text(view())}
                : refuse(409, "the job is running already, in epoch " + std::to_string(now.epoch.value));
  }
  make_lead();
  lead_->raise_fence(fence_);
  lead_->start(request, edges_.moment());
  started_ = true;
  lead_uid_ = self_.uid;
  membership_ = lead_->membership();
  probe_ = request.probe;
  follow_lead();
  return {200, json_text::safe_text(view())};
}

ApiAnswer Pod::begin_change(const ChangeRequest& request) {
  if (const auto refusal = refusal_of(request)) return *refusal;
  if (!started_ || over_) return refuse(409, over_ ? "the job is over" : "the job has not been started");
  if (!is_lead())
    return refuse(409, "pod " + self_.uid + " is not the lead: ask " + membership_.lead().uid + " at " +
                           membership_.lead().address);
  ApiAnswer answer = lead_->begin_change(request, edges_.moment());
  follow_lead();
  return answer;
}

ApiAnswer Pod::cancel_change(const std::string& id, Fence fence) {
  if (!is_lead()) {
    const ApiAnswer a = check_controller(fence);
    return a.status == 200 ? refuse(404, "change '" + id + "' is not in hand here") : a;
  }
  ApiAnswer answer = lead_->cancel_change(id, fence, edges_.moment());
  follow_lead();
  return answer;
}

ApiAnswer Pod::stop(const StopRequest& request) {
  if (!request.pod.empty() && request.pod != self_.uid)
    return refuse(404, "pod " + request.pod + " is not here any more: this is pod " + self_.uid);
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (started_ && !is_lead() && !request.this_pod)
    return refuse(409, "pod " + self_.uid + " is not the lead: ask " + lead_uid_);
  JobOutcome outcome{JobResult::Stopped, request.reason, 0, {}, {}};
  if (is_lead()) {
    lead_->stop(outcome);
    outcome.last_change = lead_->last_change();
    follow_lead();
  }
  edges_.after(kForTheAnswer, [this, outcome] { end(outcome); });
  return {200, json_text::safe_text({{"ok", true}})};
}

MembershipView Pod::view() const {
  MembershipView v;
  v.uid = self_.uid;
  v.fence = fence_;
  v.membership = membership_;
  v.state = followed_;
  v.change = plan_ ? plan_->id : "";
  v.outcome = outcome_;
  if (membership_.find(self_.uid)) {
    v.ranks = ranks_.count_connected();
    if (leaving_) v.leave_requests = {self_.uid};
    v.survives_loss = v.survives_lead_loss = news_.has_value();
    v.lead_silent_seconds = std::chrono::duration<double>(silence_of_lead()).count();
  }
  v.partition_seconds = std::chrono::duration<double>(self_.partition).count();
  v.parked_seconds = parked_seconds_;
  if (is_lead()) lead_->describe(v);
  return v;
}

std::vector<ChangeStatus> Pod::known_changes() const {
  return lead_ ? lead_->known_changes() : std::vector<ChangeStatus>{};
}

std::vector<WindowSample> Pod::known_samples(std::int64_t since) const {
  return lead_ ? lead_->samples(since) : std::vector<WindowSample>{};
}

// --- Time.

void Pod::tick() {
  if (over_) return;
  if (const int ranks = ranks_.count_connected(); started_ && std::exchange(told_connected_, ranks) != ranks)
    send_to_lead(Beat{.connected = ranks});
  if (!is_lead()) return bound_silence_of_lead();
  lead_->tick(edges_.moment());
  follow_lead();
}

void Pod::second() {
  if (!started_ || over_) return;
  if (is_lead()) {
    lead_->second(edges_.moment());
    follow_lead();
  }
  Beat beat = ranks_.whole_state();
  beat.leave = leaving_;
  send_to_lead(beat);
}

void Pod::sampled(const WindowSample& sample) {
  if (started_ && !over_) send_to_lead(Beat{.sample = sample});
}

// A pod that is asked to go wants a planned leave: the controller sees the request and arranges a change.
void Pod::terminate() {
  const bool again = ++terminations_ > 1;
  if (!started_ || again || over_) {
    log::info("terminated{}", again ? " for good" : " before the start");
    return end({JobResult::Stopped,
                again ? "the pod was terminated twice" : "the pod was terminated before the job started",
                0,
                {}});
  }
  leaving_ = true;
  send_to_lead(Beat{.leave = true});
  if (self_.malleable || self_.restartable)
    return log::info("asked to terminate: waiting for a planned leave");
  log::info("asked to terminate: so are the ranks, since a rigid program goes on nowhere else");
  for (const ProcId& proc : ranks_.running()) edges_.kill(proc, SIGTERM);
}

void Pod::end(const JobOutcome& outcome) {
  if (over_) return;
  over_ = true;
  outcome_ = outcome;
  if (outcome.result == JobResult::Failed)
    log::error("the job failed: {}", outcome.reason);
  else
    log::info("the end: {}{}{}", to_string(outcome.result), outcome.reason.empty() ? "" : ", ",
              outcome.reason);
  edges_.ended(outcome_);
}

// --- Ranks of this pod.

void Pod::rank_connected(const ProcId& proc) {
  if (LocalRank* rank = ranks_.find(proc)) rank->connected = true;
}

// The library of malleable ranks says itself when their MPI_Finalize is complete.
void Pod::rank_left_pmix(const ProcId& proc) {
  if (LocalRank* rank = ranks_.find(proc); rank && !rank->hello) rank->finalized = true;
}

void Pod::rank_reported(const RankReport& report) {
  if (!ranks_.find(report.proc)) return;  // not one of ours: some other program found the socket
  ranks_.heard(report);
  if (over_) return;
  // Of what a rank is ready for its agent tells the lead, when all are.
  if (report.kind == RankReport::Kind::Ready) rank_ready(report);
  if (report.kind == RankReport::Kind::Ready && report.parked == 0) return;
  if (report.kind == RankReport::Kind::Recoverable) return rank_recoverable(report);
  keep_for_next_lead(report);
  reports_.add(report, edges_.moment().clock);
  send_reports();
}

void Pod::send_reports() {
  for (const RankReported& message : reports_.take(ranks_.count_running(), edges_.moment().clock))
    send(lead_uid_, message);
  if (reports_.empty() || std::exchange(reports_timed_, true)) return;
  edges_.after(GatheredReports::kSoon, [this] {
    reports_timed_ = false;
    if (!over_) send_reports();
  });
}

void Pod::rank_ended(const ProcId& proc, int code, int signal, std::vector<std::string> tail) {
  if (const LocalRank* rank = ranks_.find(proc); !rank || !rank->running) return;
  const RankExited end = ranks_.ended(proc, code, signal, std::move(tail));
  if (!over_) send_to_lead(end);
}

}  // namespace empi::agent

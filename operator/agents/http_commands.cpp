// SPDX-License-Identifier: Apache-2.0
// What HttpRuntime tells the agents of a job: to start, to change, to end.
#include "operator/agents/http_asking.hpp"

namespace emj {
namespace {

// Of all pods of a job together: their end waits for it, and at Ctrl-C somebody does.
constexpr Millis kToBeStopped{2000};

Outcome to_outcome(const AgentResult<Accepted>& result) {
  if (result) return Outcome::done();
  switch (result.error().kind) {
    case AgentError::Kind::Conflict:
      return {Outcome::Kind::Conflict, result.error().message};
    case AgentError::Kind::BadRequest:
      return Outcome::refused(result.error().message);
    default:
      return Outcome::retry(result.error().message);
  }
}

empi::Member to_member(const MemberAddress& address, const std::string& agent, const ElasticMPIJob& job) {
  empi::Member member;
  member.uid = address.uid;
  member.name = address.name;
  member.address = agent;
  member.slots = job.spec.slots_per_worker;
  return member;
}

}  // namespace

Outcome HttpRuntime::start(const ElasticMPIJob& job, const StartJob& start) {
  std::vector<empi::Member> members;
  for (const MemberAddress& member : start.members)
    members.push_back(to_member(member, address_of(member.ip), job));
  const empi::StartRequest request = to_start_request(job.spec, start.fence, std::move(members));
  if (request.members.empty()) return Outcome::refused("a job cannot start without members");
  return ask_agent(job, start.members.front().ip, soon(),
                   [&](AgentClient& agent) { return agent.start(request); });
}

Outcome HttpRuntime::name_lead(const ElasticMPIJob& job, const NameLead& lead) {
  const empi::LeadRequest request{empi::Fence{lead.fence}, lead.lead.uid, lead.dead, lead.reason,
                                  empi::Epoch{lead.epoch}, lead.members};
  return ask_agent(job, lead.lead.ip, soon(), [&](AgentClient& agent) { return agent.name_lead(request); });
}

Outcome HttpRuntime::change(const ElasticMPIJob& job, const SendChange& change) {
  empi::ChangeRequest request;
  request.id = change.id;
  request.fence.value = change.fence;
  request.epoch.value = change.epoch;
  for (const MemberAddress& member : change.add)
    request.add.push_back(to_member(member, address_of(member.ip), job));
  request.remove = change.remove;
  request.cause = change.cause;
  const Time now = std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  request.deadline_ms = std::max<std::int64_t>(1000, (change.deadline - now).count());
  return ask_lead(job, soon(), [&](AgentClient& lead) { return lead.change(request); });
}

Outcome HttpRuntime::cancel(const ElasticMPIJob& job, const CancelChange& cancel) {
  return ask_lead(job, soon(),
                  [&](AgentClient& lead) { return lead.cancel(cancel.id, empi::Fence{cancel.fence}); });
}

// The thread is everybody's: many members, or slow ones, are told in as many passes as that takes.
Outcome HttpRuntime::give_notice(const ElasticMPIJob& job, const GiveNotice& notice) {
  JobMemory& memory = memory_of(job);
  if (memory.notice != notice.id) memory.told_notice.clear();
  memory.notice = notice.id;
  const auto until = clock_() + options_.timeouts.answer;
  const auto end = soon();
  for (const MemberAddress& member : notice.members) {
    if (memory.told_notice.contains(member.ip)) continue;
    if (clock_() >= until)
      return Outcome::retry(std::to_string(memory.told_notice.size()) + " of " +
                            std::to_string(notice.members.size()) + " pods have been told to end so far");
    const Outcome outcome = ask_agent(job, member.ip, end, [&](AgentClient& agent) {
      return agent.notice(empi::Fence{notice.fence}, notice.id);
    });
    if (!outcome.ok()) return outcome;
    memory.told_notice.insert(member.ip);
  }
  return Outcome::done();
}

// When nobody may look again: where a look has failed since, whoever led before it is told. A lead that
// refuses may have handed the lead over, and is told for itself first: if it has heard another controller, it
// refuses that, too, and the others, who may not have, are not told.
Outcome HttpRuntime::stop(const ElasticMPIJob& job, const StopJob& stop) {
  JobMemory& memory = memory_of(job);
  const auto end = std::chrono::steady_clock::now() + std::min(options_.timeouts.answer, kToBeStopped);
  const auto lead = std::ranges::find(stop.pods, memory.led_by, &MemberAddress::uid);
  if (lead == stop.pods.end()) return stop_each(job, stop, end, "", "the lead is not known");
  const bool tried = memory.tried_to_end.contains(lead->uid);
  const auto until =
      tried ? std::chrono::steady_clock::now() + kShortestShare : share_of(end, stop.pods.size(), true);
  const auto ask = [&](AgentClient& agent) {
    return agent.stop({empi::Fence{stop.fence}, stop.reason, false, lead->uid});
  };
  const bool connected = memory.lead && memory.lead->address() == address_of(lead->ip);
  Outcome outcome = connected ? ask_lead(job, until, ask) : ask_agent(job, lead->ip, until, ask);
  if (outcome.ok()) return outcome;
  const bool refuses = outcome.kind == Outcome::Kind::Conflict;
  if (!refuses) memory.tried_to_end.insert(lead->uid);
  return stop_each(job, stop, end, refuses ? lead->uid : "", outcome.message);
}

// Who leads is gone, or others have gone on without it: pods that are not told take their end for a drain.
// One that hangs costs its share of the time: those that were not tried come first when this is called again.
Outcome HttpRuntime::stop_each(const ElasticMPIJob& job, const StopJob& stop, Clock::result_type end,
                               const std::string& first, std::string problem) {
  JobMemory& memory = memory_of(job);
  std::vector<MemberAddress> pods;
  for (const MemberAddress& pod : stop.pods)
    if (!memory.told_to_end.contains(pod.uid)) pods.push_back(pod);
  std::ranges::stable_sort(pods, {}, [&](const MemberAddress& pod) {
    return pod.uid == first ? 0 : memory.tried_to_end.contains(pod.uid) ? 2 : 1;
  });
  for (std::size_t left = pods.size(); left > 0 && std::chrono::steady_clock::now() < end; --left) {
    const MemberAddress& pod = pods[pods.size() - left];
    bool gone = false;  // another has its address
    Outcome outcome = ask_agent(job, pod.ip, share_of(end, left, false), [&](AgentClient& agent) {
      auto answer = agent.stop({empi::Fence{stop.fence}, stop.reason, true, pod.uid});
      gone = !answer && answer.error().kind == AgentError::Kind::NotFound;
      return answer;
    });
    if (outcome.kind == Outcome::Kind::Conflict) return outcome;
    (outcome.ok() || gone ? memory.told_to_end : memory.tried_to_end).insert(pod.uid);
    if (!outcome.ok() && !gone) problem = std::move(outcome.message);
  }
  const auto told = std::ranges::count_if(
      stop.pods, [&](const MemberAddress& pod) { return memory.told_to_end.contains(pod.uid); });
  if (std::cmp_equal(told, stop.pods.size())) return Outcome::done();
  return Outcome::retry(std::to_string(told) + " of " + std::to_string(stop.pods.size()) +
                        " pods have been told to end: " + problem);
}

Outcome HttpRuntime::ask_agent(const ElasticMPIJob& job, const std::string& ip, Clock::result_type end,
                               const std::function<AgentResult<Accepted>(AgentClient&)>& ask) {
  AgentClient client(address_of(ip), "", options_.timeouts, "agent", credentials_of(job));
  client.end_by(end);
  bool stale_token = false;
  return to_outcome(with_tokens(tokens_of_(job), client, stale_token, ask));
}

Outcome HttpRuntime::ask_lead(const ElasticMPIJob& job, Clock::result_type end,
                              const std::function<AgentResult<Accepted>(AgentClient&)>& ask) {
  JobMemory& memory = memory_of(job);
  if (!memory.lead) return Outcome::retry("the lead is not known yet");
  memory.lead->agent().end_by(end);
  bool stale_token = false;
  return to_outcome(with_tokens(tokens_of_(job), memory.lead->agent(), stale_token, ask));
}

}  // namespace emj

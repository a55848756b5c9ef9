// SPDX-License-Identifier: Apache-2.0
// What HttpRuntime tells the agents of a job: to start, to change, to end.
#include "operator/agents/http_asking.hpp"

namespace emj {
namespace {

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
  return ask_agent(job, credentials_of(job), start.members.front().ip, soon(),
                   [&](AgentClient& agent) { return agent.start(request); });
}

Outcome HttpRuntime::name_lead(const ElasticMPIJob& job, const NameLead& lead) {
  const empi::LeadRequest request{empi::Fence{lead.fence}, lead.lead.uid, lead.dead, lead.reason,
                                  empi::Epoch{lead.epoch}, lead.members};
  return ask_agent(job, credentials_of(job), lead.lead.ip, soon(),
                   [&](AgentClient& agent) { return agent.name_lead(request); });
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
    const Outcome outcome = ask_agent(job, credentials_of(job), member.ip, end, [&](AgentClient& agent) {
      return agent.notice(empi::Fence{notice.fence}, notice.id);
    });
    if (!outcome.ok()) return outcome;
    memory.told_notice.insert(member.ip);
  }
  return Outcome::done();
}

// When nobody may look again: where a look has failed since, whoever led before it is told; and as its agents
// have been spoken to, since the status may say nothing of the run that ends any more.
Outcome HttpRuntime::stop(const ElasticMPIJob& job, const StopJob& stop) {
  const JobMemory& memory = memory_of(job);
  const auto end = soon();
  const auto until = share_of(end, memory.ips.size(), true);
  const auto ask = [&](AgentClient& lead) { return lead.stop({empi::Fence{stop.fence}, stop.reason}); };
  const Outcome outcome = memory.lead || memory.lead_ip.empty()
                              ? ask_lead(job, until, ask)
                              : ask_agent(job, memory.credentials, memory.lead_ip, until, ask);
  // It has heard another controller since, and the others may not have.
  if (outcome.ok() || outcome.kind == Outcome::Kind::Conflict) return outcome;
  return stop_each(job, stop, end, outcome.message);
}

// Who leads is gone, or others have gone on without it: pods that are not told take their end for a drain.
// One that hangs costs its share of the time: those that were not reached come first when this is called
// again.
Outcome HttpRuntime::stop_each(const ElasticMPIJob& job, const StopJob& stop, Clock::result_type end,
                               std::string problem) {
  JobMemory& memory = memory_of(job);
  std::deque<std::string>& ips = memory.ips;
  const std::size_t all = ips.size();
  std::size_t told = 0;
  for (std::size_t left = all; left > 0 && std::chrono::steady_clock::now() < end; --left) {
    const std::string ip = std::move(ips.front());
    ips.pop_front();
    const Outcome outcome = ask_agent(
        job, memory.credentials, ip, share_of(end, left, false),
        [&](AgentClient& agent) { return agent.stop({empi::Fence{stop.fence}, stop.reason, true}); });
    if (outcome.ok()) {
      ++told;
      continue;
    }
    problem = outcome.message;
    ips.push_back(ip);
  }
  if (all > 0 && told == all) return Outcome::done();
  return Outcome::retry(std::to_string(told) + " of " + std::to_string(all) +
                        " pods have been told to end: " + problem);
}

Outcome HttpRuntime::ask_agent(const ElasticMPIJob& job, const JobCredentials& credentials,
                               const std::string& ip, Clock::result_type end,
                               const std::function<AgentResult<Accepted>(AgentClient&)>& ask) {
  AgentClient client(address_of(ip), "", options_.timeouts, "agent", credentials);
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

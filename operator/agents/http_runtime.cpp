// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/http_runtime.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "operator/agents/pod_reports.hpp"
#include "runtime/base/host_port.hpp"

namespace emj {

namespace {

// An agent that does not answer costs a timeout: so many are asked per look, the others at the next one.
constexpr std::size_t kAskedPerLook = 3;
constexpr Millis kShortestShare{400};  // a connection with TLS to another zone and a busy agent
// The newest windows may have lacked a pod's part when they were read: they are asked for again.
constexpr std::int64_t kWindowsInMotion = 2;

// An agent that is not there yet refuses at once; one whose network is not there yet must not hold a thread.
// Of all newcomers of a job together.
constexpr AgentTimeouts kNewcomersPatience{Millis(200), Millis(500)};

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

constexpr Millis kLongestPauseOfLead{10000};  // while other members tell the membership

// What was found out by asking, good until then unless something is new of the pods.
struct Silence {
  std::chrono::steady_clock::time_point until{};
  Millis pause{0};
  std::string pods;
  RuntimeView view;
};

// A job that is silent costs one timeout a look; one whose lead is, that, and what the member says that
// answers.
std::size_t asked_after(const Silence& silence) {
  if (silence.pause == Millis(0)) return kAskedPerLook;
  return silence.view.reachable ? 2 : 1;
}

// Of the time that a look has left, for the next of `members` that are still to be asked: as many as can have
// enough of it. As long as nothing speaks against the lead it may be slow, and has half.
std::chrono::steady_clock::time_point share_of(std::chrono::steady_clock::time_point end, std::size_t members,
                                               bool trusted) {
  const auto now = std::chrono::steady_clock::now();
  const auto left = end - now;
  const auto enough = std::clamp<std::int64_t>(left / kShortestShare, 1, static_cast<std::int64_t>(members));
  return now + left / (trusted && members > 1 ? 2 : enough);
}

std::string news_of(const std::vector<const PodView*>& pods) {
  std::string text;
  for (const PodView* pod : pods)
    text += pod->uid + (pod->ready ? "+" : "-") + (pod->terminating ? "x" : "") + pod->ip + " ";
  return text;
}

// Asks with one token after the other until one is not refused. `stale`: the newest one was.
template <class Client, class Ask>
auto with_tokens(const std::vector<std::string>& tokens, Client& agent, bool& stale, const Ask& ask) {
  agent.use_token(tokens.front());
  auto result = ask(agent);
  for (std::size_t i = 1; i <= tokens.size(); ++i) {
    if (result || result.error().kind != AgentError::Kind::Unauthorized) break;
    stale = true;
    if (i == tokens.size()) break;
    agent.use_token(tokens[i]);
    result = ask(agent);
  }
  return result;
}

// Of two who do not lead. One that has just come may not have heard yet that the job can go on without its
// lead.
bool knows_more(const empi::MembershipView& view, const RuntimeView& known) {
  const std::int64_t epoch = view.membership.epoch.value;
  return epoch > known.epoch ||
         (epoch == known.epoch && view.survives_lead_loss && !known.survives_lead_loss);
}

}  // namespace

struct HttpRuntime::JobMemory {
  std::string lead_uid;
  std::unique_ptr<PodReports> lead;
  std::string lead_ip;          // of the pod that answered last as such, while that is there
  std::deque<std::string> ips;  // of all pods that were there at the last look
  JobCredentials credentials;   // that it is spoken to with
  PodReports::Sidecars sidecars;
  std::size_t next_candidate = 0;
  std::string informant_uid;  // the member that answered while the lead did not
  std::deque<empi::WindowSample> windows;
  std::deque<empi::ChangeRecord> changes;
  Silence silence;
  std::string notice;                 // the last one that was given
  std::set<std::string> told_notice;  // addresses
};

HttpRuntime::HttpRuntime(TokensOf tokens_of, HttpRuntimeOptions options, Clock clock)
    : tokens_of_(std::move(tokens_of)), options_(std::move(options)), clock_(std::move(clock)) {}
HttpRuntime::~HttpRuntime() = default;

HttpRuntime::JobMemory& HttpRuntime::memory_of(const ElasticMPIJob& job) {
  std::lock_guard lock(mutex_);
  auto& entry = jobs_[key_of(job)];
  if (!entry) entry = std::make_unique<JobMemory>();
  return *entry;
}

std::string HttpRuntime::address_of(const std::string& ip) const {
  const auto colons = std::ranges::count(ip, ':');
  if (colons == 1 || ip.starts_with('[')) return ip;  // of a local pod, with its port
  return empi::HostPort{ip, options_.agent_port}.text();
}

std::string HttpRuntime::sidecar_of(const std::string& ip, bool secure) const {
  const auto colons = std::ranges::count(ip, ':');
  const int port = secure ? options_.report_port : options_.sidecar_port;
  if (port == 0 || colons == 1 || ip.starts_with('[')) return "";
  return empi::HostPort{ip, port}.text();
}

JobCredentials HttpRuntime::credentials_of(const ElasticMPIJob& job) const {
  return options_.credentials_of ? options_.credentials_of(job) : nullptr;
}

RuntimeView HttpRuntime::observe(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  JobMemory& memory = memory_of(job);
  std::vector<const PodView*> candidates;
  for (const PodView& pod : pods) {
    if (!pod.ip.empty() && !pod.exit_code) candidates.push_back(&pod);
    if (!pod.last_change) continue;
    std::lock_guard lock(mutex_);
    remember(memory, *pod.last_change);
  }
  if (std::ranges::find(candidates, memory.lead_ip, &PodView::ip) == candidates.end()) memory.lead_ip.clear();
  memory.ips.clear();
  for (const PodView* pod : candidates) memory.ips.push_back(pod->ip);
  if (candidates.empty()) {
    memory.lead.reset();
    return {};
  }
  Silence& silence = memory.silence;
  const std::string present = news_of(candidates);
  if (silence.pods != present) silence = {};
  const auto start = clock_();
  if (start < silence.until) return silence.view;
  RuntimeView view = ask_members(job, memory, std::move(candidates), asked_after(silence));
  const auto end = clock_();
  if ((view.reachable && !view.lead_silent) || end - start < kCostly) {
    silence = {};
    return view;
  }
  const Millis longest = view.reachable ? kLongestPauseOfLead : kLongestPause;
  silence.pause = std::clamp(2 * silence.pause, kFirstPause, longest);
  silence.until = end + silence.pause;
  silence.pods = present;
  silence.view = view;
  return view;
}

RuntimeView HttpRuntime::ask_members(const ElasticMPIJob& job, JobMemory& memory,
                                     std::vector<const PodView*> candidates, std::size_t most) {
  // The lead as last known first and who answered in its place, then the others in turn; where one is asked
  // only, each in turn.
  if (memory.lead_uid.empty()) memory.lead_uid = job.status.lead_uid;
  std::rotate(candidates.begin(),
              candidates.begin() + static_cast<long>(memory.next_candidate % candidates.size()),
              candidates.end());
  for (const std::string& first : {memory.informant_uid, memory.lead_uid})
    if (most > 1)
      std::stable_partition(candidates.begin(), candidates.end(),
                            [&](const PodView* pod) { return pod->uid == first; });

  const std::int64_t since = memory.windows.empty()
                                 ? -1
                                 : std::max<std::int64_t>(-1, memory.windows.back().index - kWindowsInMotion);
  const std::vector<std::string> tokens = tokens_of_(job);
  const JobCredentials credentials = credentials_of(job);
  bool stale_token = false;
  std::string problem;
  const auto told = [&](RuntimeView view) {
    view.stale_token = stale_token;
    if (!view.reachable || view.lead_silent) view.problem = problem;
    return view;
  };
  std::optional<RuntimeView> not_the_lead;
  std::vector<std::string> silent;  // by the word of who is to lead
  const std::string named = job.status.succession ? job.status.succession->lead_uid : "";
  const auto end = soon();
  const bool nothing_wrong = most == kAskedPerLook;
  most = std::min(most, candidates.size());
  std::size_t asked = 0;
  for (; asked < most && std::chrono::steady_clock::now() < end; ++asked) {
    const PodView& pod = *candidates[asked];
    const std::string address = address_of(pod.ip);
    if (!memory.lead || memory.lead->address() != address || memory.credentials != credentials) {
      memory.lead = std::make_unique<PodReports>(address, sidecar_of(pod.ip, credentials != nullptr),
                                                 options_.timeouts, credentials);
      memory.credentials = credentials;
    }
    const auto until = share_of(end, most - asked, nothing_wrong && asked == 0);
    const auto answer = with_tokens(tokens, *memory.lead, stale_token, [&](PodReports& lead) {
      return lead.report(since, job.status.fence, memory.sidecars, clock_, until);
    });
    if (!answer) {
      if (asked == 0) problem = answer.error().message;
      continue;
    }
    const empi::Report& report = answer.value();
    const auto& members = report.view.membership.members;
    // It was never started, or has left: it does not know the job as it is, whatever it says of the lead.
    if (report.view.membership.epoch.value < job.status.epoch) continue;
    if (!members.empty() && members.front().uid != pod.uid) {
      if (pod.uid == named) silent = report.view.silent;
      // It knows who leads: that one is asked next, now or at the next look.
      if (!not_the_lead || knows_more(report.view, *not_the_lead)) {
        not_the_lead = to_runtime_view(report.view, {});
        not_the_lead->lead_silent = true;
        memory.lead_uid = members.front().uid;
        memory.informant_uid = pod.uid;
      }
      auto lead = std::find_if(candidates.begin() + static_cast<long>(asked) + 1, candidates.end(),
                               [&](const PodView* other) { return other->uid == memory.lead_uid; });
      if (lead != candidates.end())
        std::rotate(candidates.begin() + static_cast<long>(asked) + 1, lead, lead + 1);
      continue;
    }
    remember(memory, report);
    if (!members.empty()) memory.lead_uid = pod.uid;
    memory.lead_ip = pod.ip;
    RuntimeView view = to_runtime_view(report.view, report.changes);
    view.unmeasured = memory.lead->unmeasured();
    return told(std::move(view));
  }
  memory.next_candidate += asked;
  memory.lead.reset();
  if (not_the_lead) not_the_lead->silent = std::move(silent);
  return told(not_the_lead.value_or(RuntimeView{}));
}

// With mutex_ held.
void HttpRuntime::remember(JobMemory& memory, const empi::ChangeRecord& record) {
  auto known = std::ranges::find(memory.changes, record.id, &empi::ChangeRecord::id);
  if (known != memory.changes.end())
    *known = record;
  else
    memory.changes.push_back(record);
  if (memory.changes.size() > options_.changes) memory.changes.pop_front();
}

void HttpRuntime::remember(JobMemory& memory, const empi::Report& report) {
  std::lock_guard lock(mutex_);
  for (const empi::ChangeStatus& change : report.changes) remember(memory, empi::record_of(change));
  std::vector<empi::WindowSample> windows;
  std::ranges::copy_if(report.windows, std::back_inserter(windows), plausible);
  if (windows.empty()) return;
  while (!memory.windows.empty() && memory.windows.back().index >= windows.front().index)
    memory.windows.pop_back();
  memory.windows.insert(memory.windows.end(), windows.begin(), windows.end());
  while (memory.windows.size() > options_.windows) memory.windows.pop_front();
}

// The uid tells it from an agent that had the address before.
std::set<std::string> HttpRuntime::answering(const ElasticMPIJob& job,
                                             const std::vector<PodView>& newcomers) {
  const auto end = std::chrono::steady_clock::now() + kNewcomersPatience.answer;
  const std::vector<std::string> tokens = tokens_of_(job);
  const JobCredentials credentials = credentials_of(job);
  std::set<std::string> answering;
  for (const PodView& pod : newcomers) {
    AgentClient newcomer(address_of(pod.ip), "", kNewcomersPatience, "agent", credentials);
    newcomer.end_by(end);
    bool stale_token = false;
    const auto view =
        with_tokens(tokens, newcomer, stale_token, [](AgentClient& agent) { return agent.membership(); });
    if (!view || view.value().uid != pod.uid) break;
    answering.insert(pod.uid);
  }
  return answering;
}

std::vector<Sample> HttpRuntime::samples(const ElasticMPIJob& job) {
  const JobMemory& memory = memory_of(job);
  return to_samples({memory.windows.begin(), memory.windows.end()}, job.spec.autoscaling.window);
}

namespace {

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
  JobMemory& memory = memory_of(job);
  const bool known = memory.lead || !memory.lead_ip.empty();
  const auto end = soon();
  Outcome outcome = Outcome::retry("the lead is not known");
  if (known) {
    const auto ask = [&](AgentClient& lead) { return lead.stop({empi::Fence{stop.fence}, stop.reason}); };
    const auto until = share_of(end, memory.ips.size(), true);
    outcome = memory.lead ? ask_lead(job, until, ask)
                          : ask_agent(job, memory.credentials, memory.lead_ip, until, ask);
    // It has heard another controller since, and the others may not have.
    if (outcome.ok() || outcome.kind == Outcome::Kind::Conflict) return outcome;
  }
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

void HttpRuntime::forget(const JobKey& key) {
  std::lock_guard lock(mutex_);
  jobs_.erase(key);
}

std::vector<empi::ChangeRecord> HttpRuntime::changes(const JobKey& key) const {
  std::lock_guard lock(mutex_);
  auto entry = jobs_.find(key);
  return entry == jobs_.end() ? std::vector<empi::ChangeRecord>{}
                              : std::vector(entry->second->changes.begin(), entry->second->changes.end());
}

std::vector<empi::WindowSample> HttpRuntime::windows(const JobKey& key) const {
  std::lock_guard lock(mutex_);
  auto entry = jobs_.find(key);
  if (entry == jobs_.end()) return {};
  return {entry->second->windows.begin(), entry->second->windows.end()};
}

}  // namespace emj

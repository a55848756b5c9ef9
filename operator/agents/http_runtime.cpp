// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/http_runtime.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "operator/agents/http_asking.hpp"
#include "runtime/base/host_port.hpp"

namespace emj {

namespace {

// An agent that does not answer costs a timeout: so many are asked per look, the others at the next one.
constexpr std::size_t kAskedPerLook = 3;
// The newest windows may have lacked a pod's part when they were read: they are asked for again.
constexpr std::int64_t kWindowsInMotion = 2;

// An agent that is not there yet refuses at once; one whose network is not there yet must not hold a thread.
// Of all newcomers of a job together.
constexpr AgentTimeouts kNewcomersPatience{Millis(200), Millis(500)};

constexpr Millis kLongestPauseOfLead{10000};  // while other members tell the membership

// A job that is silent costs one timeout a look; one whose lead is, that, and what the member says that
// answers.
std::size_t asked_after(const Silence& silence) {
  if (silence.pause == Millis(0)) return kAskedPerLook;
  return silence.view.reachable ? 2 : 1;
}

std::string news_of(const std::vector<const PodView*>& pods) {
  std::string text;
  for (const PodView* pod : pods)
    text += pod->uid + (pod->ready ? "+" : "-") + (pod->terminating ? "x" : "") + pod->ip + " ";
  return text;
}

// Of two who do not lead. One that has just come may not have heard yet that the job can go on without its
// lead.
bool knows_more(const empi::MembershipView& view, const RuntimeView& known) {
  const std::int64_t epoch = view.membership.epoch.value;
  return epoch > known.epoch ||
         (epoch == known.epoch && view.survives_lead_loss && !known.survives_lead_loss);
}

}  // namespace

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
  memory.told_to_end.clear();
  memory.tried_to_end.clear();
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
    if (!members.empty()) {
      memory.lead_uid = pod.uid;
      memory.led_by = pod.uid;
    }
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

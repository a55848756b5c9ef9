#include "operator/controller/http_runtime.hpp"

#include <algorithm>
#include <optional>

namespace emj {

namespace {

// An agent that does not answer costs a timeout: so many are asked per look, the others at the next one.
constexpr std::size_t asked_per_look = 3;
// The newest windows may have lacked a pod's part when they were read: they are asked for again.
constexpr std::int64_t windows_in_motion = 2;

// An agent that is not there yet refuses at once; one whose network is not there yet must not hold a thread.
constexpr AgentTimeouts newcomers_patience{Millis(200), Millis(500)};

JobKey key_of(const ElasticMPIJob& job) { return {job.metadata.namespace_name, job.metadata.name}; }

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

}  // namespace

struct HttpRuntime::JobMemory {
  std::string lead_uid;
  std::unique_ptr<AgentClient> lead;
  std::size_t next_candidate = 0;
  std::deque<empi::WindowSample> windows;
  std::vector<ChangeRecord> changes;
};

HttpRuntime::HttpRuntime(TokenOf token_of, HttpRuntimeOptions options)
    : token_of_(std::move(token_of)), options_(options) {}
HttpRuntime::~HttpRuntime() = default;

HttpRuntime::JobMemory& HttpRuntime::memory_of(const ElasticMPIJob& job) {
  std::lock_guard lock(mutex_);
  auto& entry = jobs_[key_of(job)];
  if (!entry) entry = std::make_unique<JobMemory>();
  return *entry;
}

std::string HttpRuntime::address_of(const std::string& ip) const {
  return ip.find(':') == std::string::npos ? ip + ":" + std::to_string(options_.agent_port) : ip;
}

AgentClient HttpRuntime::client_for(const ElasticMPIJob& job, const std::string& address) const {
  return AgentClient(address, token_of_(job), options_.timeouts);
}

RuntimeView HttpRuntime::observe(const ElasticMPIJob& job, const std::vector<PodView>& pods) {
  JobMemory& memory = memory_of(job);
  std::vector<const PodView*> candidates;
  for (const PodView& pod : pods) {
    if (!pod.ip.empty() && !pod.exit_code) candidates.push_back(&pod);
  }
  if (candidates.empty()) return {};
  // The lead as last known first, then the others in turn.
  if (memory.lead_uid.empty()) memory.lead_uid = job.status.lead_uid;
  std::rotate(candidates.begin(),
              candidates.begin() + static_cast<long>(memory.next_candidate % candidates.size()),
              candidates.end());
  std::stable_partition(candidates.begin(), candidates.end(),
                        [&](const PodView* pod) { return pod->uid == memory.lead_uid; });

  const std::int64_t since =
      memory.windows.empty() ? -1
                             : std::max<std::int64_t>(-1, memory.windows.back().index - windows_in_motion);
  std::optional<RuntimeView> not_the_lead;
  for (std::size_t asked = 0; asked < candidates.size() && asked < asked_per_look; ++asked) {
    const PodView& pod = *candidates[asked];
    const std::string address = address_of(pod.ip);
    if (!memory.lead || memory.lead->address() != address) {
      memory.lead = std::make_unique<AgentClient>(client_for(job, address));
    }
    const auto answer = memory.lead->report(since, job.status.fence);
    if (!answer) continue;
    const empi::Report& report = answer.value();
    const auto& members = report.view.membership.members;
    // It was never started, or has left: it does not know the job as it is, whatever it says of the lead.
    if (report.view.membership.epoch.value < job.status.epoch) continue;
    if (!members.empty() && members.front().uid != pod.uid) {
      // It knows who leads: that one is asked next, now or at the next look.
      if (!not_the_lead || not_the_lead->epoch < report.view.membership.epoch.value) {
        not_the_lead = to_runtime_view(report.view, {});
        not_the_lead->lead_silent = true;
        memory.lead_uid = members.front().uid;
      }
      auto lead = std::find_if(candidates.begin() + static_cast<long>(asked) + 1, candidates.end(),
                               [&](const PodView* other) { return other->uid == memory.lead_uid; });
      if (lead != candidates.end())
        std::rotate(candidates.begin() + static_cast<long>(asked) + 1, lead, lead + 1);
      continue;
    }
    remember(memory, report);
    if (!members.empty()) memory.lead_uid = pod.uid;
    return to_runtime_view(report.view, report.changes);
  }
  memory.next_candidate += asked_per_look;
  memory.lead.reset();
  return not_the_lead.value_or(RuntimeView{});
}

void HttpRuntime::remember(JobMemory& memory, const empi::Report& report) {
  std::lock_guard lock(mutex_);
  for (const empi::ChangeStatus& change : report.changes) {
    const ChangeRecord record = to_record(change);
    auto known = std::find_if(memory.changes.begin(), memory.changes.end(),
                              [&](const ChangeRecord& other) { return other.id == record.id; });
    if (known != memory.changes.end()) {
      *known = record;
    } else {
      memory.changes.push_back(record);
    }
  }
  if (report.windows.empty()) return;
  while (!memory.windows.empty() && memory.windows.back().index >= report.windows.front().index)
    memory.windows.pop_back();
  memory.windows.insert(memory.windows.end(), report.windows.begin(), report.windows.end());
  while (memory.windows.size() > options_.windows) memory.windows.pop_front();
}

// The uid tells it from an agent that had the address before.
bool HttpRuntime::answers(const ElasticMPIJob& job, const PodView& pod) {
  const auto view = AgentClient(address_of(pod.ip), token_of_(job), newcomers_patience).membership();
  return view && view.value().uid == pod.uid;
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
  empi::StartRequest request;
  request.fence.value = start.fence;
  for (const MemberAddress& member : start.members) {
    request.members.push_back(to_member(member, address_of(member.ip), job));
  }
  if (request.members.empty()) return Outcome::refused("a job cannot start without members");
  AgentClient client = client_for(job, request.members.front().address);
  return to_outcome(client.start(request));
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
  return ask_lead(job, [&](AgentClient& lead) { return lead.change(request); });
}

Outcome HttpRuntime::cancel(const ElasticMPIJob& job, const CancelChange& cancel) {
  return ask_lead(job, [&](AgentClient& lead) { return lead.cancel(cancel.id, empi::Fence{cancel.fence}); });
}

Outcome HttpRuntime::stop(const ElasticMPIJob& job, const StopJob& stop) {
  return ask_lead(job, [&](AgentClient& lead) { return lead.stop(empi::Fence{stop.fence}, stop.reason); });
}

Outcome HttpRuntime::ask_lead(const ElasticMPIJob& job,
                              const std::function<AgentResult<Accepted>(AgentClient&)>& ask) {
  JobMemory& memory = memory_of(job);
  if (!memory.lead) return Outcome::retry("the lead is not known yet");
  return to_outcome(ask(*memory.lead));
}

void HttpRuntime::forget(const JobKey& key) {
  std::lock_guard lock(mutex_);
  jobs_.erase(key);
}

std::vector<ChangeRecord> HttpRuntime::changes(const JobKey& key) const {
  std::lock_guard lock(mutex_);
  auto entry = jobs_.find(key);
  return entry == jobs_.end() ? std::vector<ChangeRecord>{} : entry->second->changes;
}

std::vector<empi::WindowSample> HttpRuntime::windows(const JobKey& key) const {
  std::lock_guard lock(mutex_);
  auto entry = jobs_.find(key);
  if (entry == jobs_.end()) return {};
  return {entry->second->windows.begin(), entry->second->windows.end()};
}

}  // namespace emj

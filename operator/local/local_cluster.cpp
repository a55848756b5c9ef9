// SPDX-License-Identifier: Apache-2.0
#include "operator/local/local_cluster.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "operator/agents/agent_client.hpp"
#include "operator/agents/convert.hpp"
#include "operator/objects/pods.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/names.hpp"

namespace emj::local {

namespace names = empi::names;

namespace {

constexpr std::chrono::milliseconds kManifestInterval{300};
// How long a pod may take to end after SIGTERM. Its ranks have left or were stopped before.
constexpr std::chrono::milliseconds kTerminationGrace{5000};
constexpr int kMeasuringWindowMillis = 1000;
constexpr AgentTimeouts kReadinessTimeouts{Millis(200), Millis(200)};

// A port of 127.0.0.1 that is free now; below the range from which the kernel gives ports to clients.
int free_loopback_port() {
  static std::mt19937 generator{std::random_device{}()};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int port = std::uniform_int_distribution<int>(12000, 31999)(generator);
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return port;
  }
  throw std::runtime_error("no free port found on 127.0.0.1 for another pod");
}

std::map<std::string, std::string> inherited_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

const nlohmann::json& worker_container(const nlohmann::json& pod) {
  for (const auto& container : pod.at("spec").at("containers")) {
    if (container.at("name") == "worker") return container;
  }
  throw std::runtime_error("the pod object has no container named worker");
}

std::string locate(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  if (auto path = find_program(name)) return *path;
  throw std::runtime_error("program " + name + " is neither in " + own_folder().string() +
                           " nor on PATH: build or install it");
}

// What a run and its jobs have outside of their state folders is named after their ids, so that several may
// go on on one machine and what one of them left would be known as its.
std::string name_on_machine(const std::string& uid) { return "empi-" + uid.substr(0, 8); }

// Where the manifest names a claim, a folder of the working directory stands for it.
void set_checkpoints(const ElasticMPIJob& job, const LocalJobOptions& options,
                     std::map<std::string, std::string>& environment) {
  const auto absolute = [&](const std::filesystem::path& path) {
    return std::filesystem::path(options.working_directory) / path;
  };
  if (const auto& wanted = job.spec.checkpoint) {
    const std::string volume = wanted->path.empty() ? "volumes/" + wanted->volume_claim : wanted->path;
    environment[names::kCheckpointDir] = absolute(volume) / job.metadata.name;
  }
  // What the job has written since is newer.
  const bool wrote = job.status.checkpoint && job.status.checkpoint->number > 0;
  if (!options.checkpoint.empty() && !wrote)
    environment[names::kCheckpointFrom] = absolute(options.checkpoint);
}

std::string run_folder(Isolation isolation, const std::string& job_uid, const std::string& pod_uid) {
  // /dev/shm is the pod's own unless nothing is permitted here.
  if (isolation != Isolation::None) return "/dev/shm/empi";
  return "/dev/shm/" + name_on_machine(job_uid) + "-" + pod_uid.substr(0, 8);
}

}  // namespace

LocalCluster::LocalCluster(const std::string& run, EventLoop& loop,
                           std::function<void(const JobKey&)> on_pod_end,
                           std::function<void(const std::string&, const std::string&)> on_output)
    : run_(run), loop_(loop), pods_(loop, std::move(on_pod_end), std::move(on_output)) {
  watch_manifests();
}

LocalCluster::~LocalCluster() {
  loop_.stop();
  pods_.kill_all();
}

void LocalCluster::add(ElasticMPIJob job, const StateFolder& folder, UniqueFd lock, LocalJobOptions options) {
  const JobKey key = key_of(job);
  options.run = run_;
  Entry entry;
  std::string no_bridge;
  try {
    join_network(job, options, entry);
  } catch (const NoBridge& error) {
    no_bridge = error.what();
    options.isolation = Isolation::SharedNetwork;
    join_network(job, options, entry);
  }
  entry.job = std::make_shared<LocalJob>(std::move(job), folder, std::move(lock), loop_, std::move(options));
  if (!no_bridge.empty())
    entry.job->note(true, "Loopback", "pods share the loopback interface: " + no_bridge);
  const std::lock_guard lock_map(mutex_);
  jobs_[key] = std::move(entry);
}

void LocalCluster::join_network(const ElasticMPIJob& job, LocalJobOptions& options, Entry& entry) {
  const LocalSpec local = job.spec.local.value_or(LocalSpec{});
  if (options.isolation == Isolation::Namespaces) {
    if (!network_) network_ = std::make_unique<Network>(name_on_machine(run_));
    entry.network = network_.get();
    entry.limits = link_limits(local);
    Network::probe(entry.limits, local);
    return;
  }
  const bool slower = local.network_delay_microseconds > 0 || local.network_megabits_per_second > 0;
  if (slower && local.network_emulation == LocalEmulation::Packets) {
    throw std::runtime_error(
        "spec.local asks for a network delay or bandwidth limit, but pods share the loopback interface: "
        "remove these fields, set networkEmulation to Calls, or run where network namespaces are permitted");
  }
}

void LocalCluster::remove(const JobKey& key) {
  pods_.forget(key);
  decltype(jobs_)::node_type removed;  // it ends without the lock: its commands may be under way
  const std::lock_guard lock(mutex_);
  removed = jobs_.extract(key);
}

LocalCluster::Entry* LocalCluster::find(const JobKey& key) {
  const auto entry = jobs_.find(key);
  return entry == jobs_.end() ? nullptr : &entry->second;
}

std::vector<std::shared_ptr<LocalJob>> LocalCluster::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<LocalJob>> jobs;
  for (const auto& [key, entry] : jobs_) jobs.push_back(entry.job);
  return jobs;
}

JobCredentials LocalCluster::credentials(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto entry = jobs_.find(key);
  return entry == jobs_.end() ? nullptr : entry->second.job->credentials();
}

std::string LocalCluster::token(const JobKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto entry = jobs_.find(key);
  return entry == jobs_.end() ? std::string() : entry->second.job->token();
}

void LocalCluster::note(const JobKey& key, bool warning, const std::string& reason,
                        const std::string& message) {
  if (Entry* entry = find(key)) entry->job->note(warning, reason, message);
}

std::optional<JobRecord> LocalCluster::read_job(const JobKey& key) {
  const Entry* entry = find(key);
  if (!entry) return std::nullopt;
  return entry->job->record();
}

Outcome LocalCluster::write_status(const ElasticMPIJob& read, const JobStatus& status) {
  Entry* entry = find(key_of(read));
  return entry ? entry->job->write_status(status) : Outcome::done();
}

Outcome LocalCluster::write_scale(const ElasticMPIJob& read, int replicas) {
  Entry* entry = find(key_of(read));
  return entry ? entry->job->write_scale(replicas) : Outcome::done();
}

Outcome LocalCluster::clear_resume(const JobKey& key) {
  if (Entry* entry = find(key)) entry->job->clear_resume();
  return Outcome::done();
}

std::vector<PodView> LocalCluster::list_pods(const JobKey& key) {
  std::vector<PodView> views;
  Entry* entry = find(key);
  if (!entry) return views;
  for (const PodState& state : pods_.list(key)) {
    PodView view;
    view.name = state.plan.name;
    view.uid = state.plan.uid;
    view.index = state.plan.index;
    view.pool = state.plan.pool;
    view.ip = state.plan.address;
    // Pods that share an address are told apart by their ports.
    if (!entry->network) view.ip += ":" + std::to_string(state.plan.agent_port);
    view.terminating = state.terminating;
    view.exit_code = state.exit_code;
    Termination last_words = read_termination(state.message);
    view.message = std::move(last_words.text);
    view.last_change = std::move(last_words.last_change);
    view.program_succeeded = last_words.program_succeeded;
    view.phase = !state.exit_code        ? PodPhase::Running
                 : *state.exit_code == 0 ? PodPhase::Succeeded
                                         : PodPhase::Failed;
    if (!state.exit_code && !state.terminating) {
      view.ready = entry->ready.contains(view.uid);
      if (!view.ready) {
        AgentClient agent(state.plan.address + ":" + std::to_string(state.plan.agent_port),
                          entry->job->token(), kReadinessTimeouts, "agent", entry->job->credentials());
        view.ready = agent.health().ok();
        if (view.ready) entry->ready.insert(view.uid);
      }
    }
    views.push_back(std::move(view));
  }
  std::sort(views.begin(), views.end(), [](const PodView& a, const PodView& b) { return a.index < b.index; });
  return views;
}

PodPlan LocalCluster::plan_pod(const ElasticMPIJob& job, Entry& entry, const nlohmann::json& pod) {
  const LocalJobOptions& options = entry.job->options();
  const auto& container = worker_container(pod);
  PodPlan plan;
  plan.job = key_of(job);
  plan.name = pod.at("metadata").at("name").get<std::string>();
  plan.uid = random_uuid();
  plan.index = worker_index(job.metadata.name, plan.name).value_or(0);
  const auto& labels = pod.at("metadata").value("labels", nlohmann::json::object());
  plan.pool = labels.value(kLabelPool, "");
  plan.agent = container.at("command").get<std::vector<std::string>>();
  for (const auto& argument : container.value("args", nlohmann::json::array()))
    plan.agent.push_back(argument);
  plan.agent.at(0) = locate(plan.agent.at(0));
  if (auto sidecar = find_program("elastic-mpi-sidecar")) plan.sidecar = {*sidecar};
  plan.working_directory = container.value("workingDir", options.working_directory);
  plan.run_dir = run_folder(options.isolation, job.metadata.uid, plan.uid);
  plan.log_file = options.output_folder + "/" + plan.name + ".log";
  plan.termination_file = entry.job->termination_file(plan.name);
  plan.isolation = options.isolation;
  plan.network = entry.network;
  plan.limits = entry.limits;
  plan.address = plan.network ? plan.network->new_address() : "127.0.0.1";
  plan.agent_port = plan.network ? kAgentPort : free_loopback_port();
  plan.sidecar_port = plan.network ? kMetricsPort : free_loopback_port();

  auto environment = inherited_environment();
  for (const auto& entry : container.value("env", nlohmann::json::array())) {
    if (entry.contains("value")) environment[entry.at("name")] = entry.at("value");
  }
  const LocalSpec local = job.spec.local.value_or(LocalSpec{});
  environment["PATH"] = own_folder().string() + ":" + environment["PATH"];
  environment[names::kJobName] = job.metadata.name;
  environment[names::kJobNamespace] = job.metadata.namespace_name;
  environment[names::kJobUid] = job.metadata.uid;
  environment[names::kPodName] = plan.name;
  environment[names::kPodUid] = plan.uid;
  environment[names::kPodAddress] = plan.address;
  environment[names::kAgentPort] = std::to_string(plan.agent_port);
  environment[names::kSidecarPort] = std::to_string(plan.sidecar_port);
  environment[names::kSlots] = std::to_string(job.spec.slots_per_worker);
  environment[names::kMinWorkers] = std::to_string(job.spec.worker.min_replicas);
  environment[names::kTokenFile] = entry.job->token_file();
  if (const std::string folder = entry.job->certificate_folder(plan.name, plan.index); !folder.empty()) {
    environment[names::kTlsDir] = folder;
    environment[names::kReportPort] = "0";  // nobody asks it: the agents are on this machine
  } else {
    environment.erase(names::kTlsDir);  // of a pod that we run in
  }
  environment[names::kSharedProcessors] = "yes";  // all pods are on this machine's
  environment[names::kMode] = is_malleable(job.spec.runtime) ? "malleable" : "rigid";
  environment[names::kNetworkInterface] = plan.network ? "eth0" : "lo";
  environment[names::kTerminationLog] = plan.termination_file;
  environment[names::kRunDir] = plan.run_dir;
  environment[names::kWindowMillis] = std::to_string(kMeasuringWindowMillis);
  environment[names::kOutputDir] = options.output_folder;
  set_checkpoints(job, options, environment);
  if (local.slowdown_factor > 1) environment[names::kSlowdown] = empi::json_text::text(local.slowdown_factor);
  if (local.network_emulation == LocalEmulation::Calls) {
    if (local.network_delay_microseconds > 0)
      environment[names::kNetworkDelay] = std::to_string(local.network_delay_microseconds);
    if (local.network_megabits_per_second > 0)
      environment[names::kNetworkRate] = std::to_string(local.network_megabits_per_second);
  }
  for (const auto& [name, value] : environment) plan.environment.emplace_back(name).append("=").append(value);
  return plan;
}

Outcome LocalCluster::create_pod(const ElasticMPIJob& job, const nlohmann::json& pod) {
  Entry* entry = find(key_of(job));
  if (!entry) return Outcome::done();
  try {
    const std::string name = pod.at("metadata").at("name");
    for (const PodState& state : pods_.list(key_of(job))) {
      if (state.plan.name == name) return Outcome::done();
    }
    pods_.create(plan_pod(job, *entry, pod));
    return Outcome::done();
  } catch (const nlohmann::json::exception& error) {
    return Outcome::refused(std::string("the pod object cannot be read: ") + error.what());
  } catch (const std::exception& error) {
    // Nothing on this machine will change by trying again: a program is missing, a namespace is refused.
    return Outcome::refused(error.what());
  }
}

Outcome LocalCluster::delete_pod(const JobKey&, const DeletePod& pod) {
  pods_.remove(pod.uid, kTerminationGrace);
  return Outcome::done();
}

Outcome LocalCluster::delete_job(const JobKey&, const std::string&) { return Outcome::done(); }

void LocalCluster::record_event(const JobKey& key, const RecordEvent& event) {
  note(key, event.warning, event.reason, event.message);
}

void LocalCluster::request_cancel() {
  for (const auto& job : jobs()) job->request_cancel();
}

void LocalCluster::watch_manifests() {
  loop_.at(EventLoop::Clock::now() + kManifestInterval, [this] {
    for (const auto& job : jobs()) job->look_at_manifest();
    watch_manifests();
  });
}

}  // namespace emj::local

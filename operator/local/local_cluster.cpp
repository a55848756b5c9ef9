// SPDX-License-Identifier: Apache-2.0
#include "operator/local/local_cluster.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "operator/agents/agent_client.hpp"
#include "operator/agents/convert.hpp"
#include "operator/api/parse.hpp"
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

Time now() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

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

std::string stamp_of(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return {};
  return std::to_string(info.st_ino) + ":" + std::to_string(info.st_size) + ":" +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

// What a job has outside of its state folder is named after its uid, so that several jobs may run on one
// machine and what one of them left would be known as its.
std::string name_on_machine(const std::string& job_uid) { return "empi-" + job_uid.substr(0, 8); }

std::string run_folder(Isolation isolation, const std::string& job_uid, const std::string& pod_uid) {
  // /dev/shm is the pod's own unless nothing is permitted here.
  if (isolation != Isolation::None) return "/dev/shm/empi";
  return "/dev/shm/" + name_on_machine(job_uid) + "-" + pod_uid.substr(0, 8);
}

}  // namespace

LocalCluster::LocalCluster(ElasticMPIJob job, const StateFolder& folder, EventLoop& loop, Wakeup& changed,
                           LocalOptions options)
    : folder_(folder),
      loop_(loop),
      changed_(changed),
      options_(std::move(options)),
      token_(random_token()),
      job_(std::move(job)) {
  job_.metadata.uid = random_uuid();  // two runs of one manifest are two jobs
  make_network();
  pods_ = std::make_unique<Pods>(loop_, changed_, options_.isolation, network_.get(), options_.on_output);
  job_.metadata.creation_time = now();
  manifest_spec_ = job_.spec;
  write_file_atomically(folder_.file("token"), token_ + "\n", 0600);
  folder_.write_spec(job_);
  folder_.write_status(job_.status);
  serve_commands(loop_, folder_, [this](const Command& command) { return handle(command); });
  manifest_stamp_ = stamp_of(options_.manifest);
  watch_manifest();
}

void LocalCluster::make_network() {
  const LocalSpec local = job_.spec.local.value_or(LocalSpec{});
  if (options_.isolation == Isolation::Namespaces) {
    try {
      network_ = std::make_unique<Network>(local, name_on_machine(job_.metadata.uid));
      return;
    } catch (const NoBridge& error) {
      options_.isolation = Isolation::SharedNetwork;
      note(true, "Loopback", std::string("pods share the loopback interface: ") + error.what());
    }
  }
  if (local.network_delay_microseconds > 0 || local.network_megabits_per_second > 0) {
    throw std::runtime_error(
        "spec.local asks for a network delay or bandwidth limit, but pods share the loopback interface: "
        "remove these "
        "fields, or run where network namespaces are permitted");
  }
}

LocalCluster::~LocalCluster() {
  loop_.stop();
  pods_->kill_all();
  std::error_code ignored;
  for (const char* file : {"socket", "token"}) std::filesystem::remove(folder_.file(file), ignored);
  for (const std::string& file : termination_files_) std::filesystem::remove(file, ignored);
}

JobKey LocalCluster::key() const { return key_of(job_); }

void LocalCluster::note(bool warning, const std::string& reason, const std::string& message) {
  folder_.append_event(emj::to_string(now()) + (warning ? "  Warning  " : "  Normal   ") + reason + "  " +
                       message);
  if (options_.on_event) options_.on_event(warning, message);
}

std::optional<JobRecord> LocalCluster::read_job(const JobKey&) {
  std::lock_guard lock(mutex_);
  return JobRecord{job_, cancel_requested_, resume_autoscaling_};
}

Outcome LocalCluster::write_status(const ElasticMPIJob&, const JobStatus& status) {
  std::lock_guard lock(mutex_);
  try {
    folder_.write_status(status);
  } catch (const std::exception& error) {
    return Outcome::retry(error.what());
  }
  job_.status = status;
  return Outcome::done();
}

Outcome LocalCluster::write_scale(const ElasticMPIJob&, int replicas) {
  std::lock_guard lock(mutex_);
  JobSpec spec = job_.spec;
  spec.worker.replicas = replicas;
  replace_spec(std::move(spec));
  return Outcome::done();
}

Outcome LocalCluster::clear_resume(const JobKey&) {
  std::lock_guard lock(mutex_);
  resume_autoscaling_ = false;
  return Outcome::done();
}

void LocalCluster::replace_spec(JobSpec spec) {
  if (spec == job_.spec) return;
  job_.spec = std::move(spec);
  ++job_.metadata.generation;
  folder_.write_spec(job_);
  changed_.notify();
}

std::vector<PodView> LocalCluster::list_pods(const JobKey&) {
  std::vector<PodView> views;
  for (const PodState& state : pods_->list()) {
    PodView view;
    view.name = state.plan.name;
    view.uid = state.plan.uid;
    view.index = state.plan.index;
    view.ip = state.plan.address;
    // Pods that share an address are told apart by their ports.
    if (!network_) view.ip += ":" + std::to_string(state.plan.agent_port);
    view.terminating = state.terminating;
    view.exit_code = state.exit_code;
    Termination last_words = read_termination(state.message);
    view.message = std::move(last_words.text);
    view.last_change = std::move(last_words.last_change);
    view.phase = !state.exit_code        ? PodPhase::Running
                 : *state.exit_code == 0 ? PodPhase::Succeeded
                                         : PodPhase::Failed;
    if (!state.exit_code && !state.terminating) {
      view.ready = std::find(ready_.begin(), ready_.end(), view.uid) != ready_.end();
      if (!view.ready) {
        AgentClient agent(state.plan.address + ":" + std::to_string(state.plan.agent_port), token_,
                          kReadinessTimeouts);
        view.ready = agent.health().ok();
        if (view.ready) ready_.push_back(view.uid);
      }
    }
    views.push_back(std::move(view));
  }
  std::sort(views.begin(), views.end(), [](const PodView& a, const PodView& b) { return a.index < b.index; });
  return views;
}

PodPlan LocalCluster::plan_pod(const nlohmann::json& pod) {
  const JobSpec spec = [&] {
    std::lock_guard lock(mutex_);
    return job_.spec;
  }();
  const auto& container = worker_container(pod);
  PodPlan plan;
  plan.name = pod.at("metadata").at("name").get<std::string>();
  plan.uid = random_uuid();
  plan.index = worker_index(job_.metadata.name, plan.name).value_or(0);
  plan.agent = container.at("command").get<std::vector<std::string>>();
  for (const auto& argument : container.value("args", nlohmann::json::array()))
    plan.agent.push_back(argument);
  plan.agent.at(0) = locate(plan.agent.at(0));
  if (auto sidecar = find_program("elastic-mpi-sidecar")) plan.sidecar = {*sidecar};
  plan.working_directory = container.value("workingDir", options_.working_directory);
  plan.run_dir = run_folder(options_.isolation, job_.metadata.uid, plan.uid);
  plan.log_file = options_.output_folder + "/" + plan.name + ".log";
  plan.termination_file = folder_.file("termination-" + plan.name);
  write_file_atomically(plan.termination_file, "");
  termination_files_.push_back(plan.termination_file);
  plan.address = network_ ? network_->new_address() : "127.0.0.1";
  plan.agent_port = network_ ? kAgentPort : free_loopback_port();
  plan.sidecar_port = network_ ? kMetricsPort : free_loopback_port();

  auto environment = inherited_environment();
  for (const auto& entry : container.value("env", nlohmann::json::array())) {
    if (entry.contains("value")) environment[entry.at("name")] = entry.at("value");
  }
  const LocalSpec local = spec.local.value_or(LocalSpec{});
  environment["PATH"] = own_folder().string() + ":" + environment["PATH"];
  environment[names::kJobName] = job_.metadata.name;
  environment[names::kJobNamespace] = job_.metadata.namespace_name;
  environment[names::kJobUid] = job_.metadata.uid;
  environment[names::kPodName] = plan.name;
  environment[names::kPodUid] = plan.uid;
  environment[names::kPodAddress] = plan.address;
  environment[names::kAgentPort] = std::to_string(plan.agent_port);
  environment[names::kSidecarPort] = std::to_string(plan.sidecar_port);
  environment[names::kSlots] = std::to_string(spec.slots_per_worker);
  environment[names::kTokenFile] = folder_.file("token");
  environment[names::kMode] = spec.runtime.mode == RuntimeMode::Rigid ? "rigid" : "malleable";
  environment[names::kNetworkInterface] = network_ ? "eth0" : "lo";
  environment[names::kTerminationLog] = plan.termination_file;
  environment[names::kRunDir] = plan.run_dir;
  environment[names::kWindowMillis] = std::to_string(kMeasuringWindowMillis);
  environment[names::kOutputDir] = options_.output_folder;
  if (local.slowdown_factor > 1) environment[names::kSlowdown] = empi::json_text::text(local.slowdown_factor);
  for (const auto& [name, value] : environment) plan.environment.emplace_back(name).append("=").append(value);
  return plan;
}

Outcome LocalCluster::create_pod(const ElasticMPIJob&, const nlohmann::json& pod) {
  try {
    const std::string name = pod.at("metadata").at("name");
    for (const PodState& state : pods_->list()) {
      if (state.plan.name == name) return Outcome::done();
    }
    pods_->create(plan_pod(pod));
    return Outcome::done();
  } catch (const nlohmann::json::exception& error) {
    return Outcome::refused(std::string("the pod object cannot be read: ") + error.what());
  } catch (const std::exception& error) {
    // Nothing on this machine will change by trying again: a program is missing, a namespace is refused.
    return Outcome::refused(error.what());
  }
}

Outcome LocalCluster::delete_pod(const JobKey&, const DeletePod& pod) {
  pods_->remove(pod.uid, kTerminationGrace);
  return Outcome::done();
}

Outcome LocalCluster::delete_job(const JobKey&, const std::string&) { return Outcome::done(); }

void LocalCluster::record_event(const JobKey&, const RecordEvent& event) {
  note(event.warning, event.reason, event.message);
}

void LocalCluster::request_cancel() {
  {
    std::lock_guard lock(mutex_);
    cancel_requested_ = true;
  }
  changed_.notify();
}

Reply LocalCluster::handle(const Command& command) {
  switch (command.verb) {
    case Command::Verb::Cancel:
      request_cancel();
      return {true, "cancelling"};
    case Command::Verb::Resume: {
      std::lock_guard lock(mutex_);
      if (job_.spec.autoscaling.mode != AutoscalingMode::Auto)
        return {false, "spec.autoscaling.mode is not Auto: nothing to resume"};
      resume_autoscaling_ = true;
      changed_.notify();
      return {true, "autoscaling resumes"};
    }
    case Command::Verb::Scale:
      return scale(command.replicas);
  }
  return {false, "unknown command"};
}

Reply LocalCluster::scale(int replicas) {
  std::lock_guard lock(mutex_);
  if (is_terminal(job_.status.state))
    return {false, std::string("it has ended (") + to_string(job_.status.state) + ")"};
  if (job_.spec.runtime.mode == RuntimeMode::Rigid) {
    return {false, "its size is fixed: spec.runtime.mode is Rigid"};
  }
  JobSpec spec = job_.spec;
  spec.worker.replicas = replicas;
  const int target = feasible_size(spec, replicas);
  replace_spec(std::move(spec));
  std::string message = "asked for " + std::to_string(replicas) + " workers";
  if (target != replicas) {
    message += ", limited to " + std::to_string(target) + " by minReplicas " +
               std::to_string(job_.spec.worker.min_replicas) + ", maxReplicas " +
               std::to_string(job_.spec.worker.max_replicas) + " or resize.allowedReplicas";
  }
  if (job_.spec.autoscaling.mode == AutoscalingMode::Auto) {
    message += "; this pauses autoscaling until `empi resume " + job_.metadata.name +
               "` or an edit of spec.autoscaling";
  }
  return {true, message};
}

void LocalCluster::watch_manifest() {
  loop_.at(EventLoop::Clock::now() + kManifestInterval, [this] {
    const std::string stamp = stamp_of(options_.manifest);
    if (!stamp.empty() && stamp != manifest_stamp_) {
      manifest_stamp_ = stamp;
      apply_manifest();
    }
    watch_manifest();
  });
}

void LocalCluster::apply_manifest() {
  const auto text = read_file(options_.manifest);
  if (!text) return;
  auto edited = options_.load(*text);
  if (!edited) {
    std::string reasons = edited.message();
    while (!reasons.empty() && reasons.back() == '\n') reasons.pop_back();
    note(true, "BadManifest", "the edited manifest is refused, the job goes on as it is: " + reasons);
    return;
  }
  std::lock_guard lock(mutex_);
  ElasticMPIJob next = job_;
  next.spec = edited.value().spec;
  // Only what the editor changed: a size set meanwhile by `empi scale` or the autoscaler stays.
  if (next.spec.worker.replicas == manifest_spec_.worker.replicas)
    next.spec.worker.replicas = job_.spec.worker.replicas;
  const auto violations = validate_update(job_, next);
  if (refuses(violations) || edited.value().metadata.name != job_.metadata.name ||
      next.spec.local != job_.spec.local) {
    std::string reasons;
    for (const Violation& violation : violations)
      reasons += (reasons.empty() ? "" : "; ") + to_string(violation, options_.manifest);
    if (reasons.empty()) reasons = "metadata.name and spec.local cannot change while the job runs";
    note(true, "BadManifest", "the edited manifest is refused, the job goes on as it is: " + reasons);
    return;
  }
  manifest_spec_ = edited.value().spec;
  if (next.spec == job_.spec) return;
  replace_spec(next.spec);
  note(false, "ManifestEdited", "the edited manifest " + options_.manifest + " is in effect");
}

}  // namespace emj::local

// SPDX-License-Identifier: Apache-2.0
#include "operator/local/pods.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "operator/local/pod_holder.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::local {

namespace {

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::size_t kLongestMessage = 4096;  // as Kubernetes keeps
constexpr int kStartTimeoutMs = 20'000;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// The next line that the holder says; bounded, so that a stuck mount cannot hold the controller for ever.
std::string next_line(int socket) {
  std::string line;
  for (;;) {
    pollfd ready{socket, POLLIN, 0};
    if (poll(&ready, 1, kStartTimeoutMs) <= 0)
      throw std::runtime_error("its namespaces were not ready after 20 s");
    char byte = 0;
    const ssize_t count = read(socket, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw std::runtime_error("the process that holds it ended at once");
    if (byte == '\n') return line;
    line += byte;
  }
}

void send_all(int socket, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = send(socket, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      throw std::runtime_error(std::string("talking to its holder: ") + std::strerror(errno));
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

std::string trimmed_message(const std::string& path) {
  std::string text = read_file(path).value_or("");
  if (text.size() > kLongestMessage) text = text.substr(text.size() - kLongestMessage);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return empi::json_text::cut(std::move(text), kLongestMessage);
}

}  // namespace

struct Pods::Pod {
  PodState state;
  pid_t holder = -1;
  UniqueFd log;
  std::string partial_line;
  int output = -1;  // owned by the loop
};

Pods::Pods(EventLoop& loop, std::function<void(const JobKey&)> changed,
           std::function<void(const std::string&, const std::string&)> on_line)
    : loop_(loop), changed_(std::move(changed)), on_line_(std::move(on_line)) {}

Pods::~Pods() { kill_all(); }

void Pods::create(PodPlan plan) {
  auto pod = std::make_shared<Pod>();
  pod->log = UniqueFd(open(plan.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!pod->log) throw std::runtime_error("opening " + plan.log_file + ": " + std::strerror(errno));
  auto [output_read, output_write] = make_pipe();
  auto [ours, theirs] = make_socket_pair();
  UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  fcntl(output_read.get(), F_SETFL, O_NONBLOCK);

  std::vector<std::string> own_environment;
  for (char** variable = environ; *variable; ++variable) own_environment.emplace_back(*variable);
  pod->holder =
      spawn({own_program(), kPodHolderCommand}, own_environment,
            {{theirs.get(), 3}, {nothing.get(), 0}, {output_write.get(), 1}, {output_write.get(), 2}});
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pod->holder, 0)));
  theirs.reset();
  output_write.reset();
  try {
    PodProcess description{.name = plan.name,
                           .isolation = plan.isolation,
                           .parent = getpid(),
                           .address = plan.address,
                           .run_dir = plan.run_dir,
                           .working_directory = plan.working_directory,
                           .agent = plan.agent,
                           .sidecar = plan.sidecar,
                           .environment = plan.environment,
                           .shaping = plan.limits.pod};
    const std::string text = encode(description);
    send_all(ours.get(), std::to_string(text.size()) + "\n" + text);
    std::string answer = next_line(ours.get());
    if (answer.rfind("cloned ", 0) == 0) {
      const int pid = std::stoi(answer.substr(7));
      if (plan.isolation != Isolation::None) write_identity_maps(pid);
      if (plan.network) plan.network->connect(pid, plan.address, plan.limits);
      send_all(ours.get(), "go\n");
      answer = next_line(ours.get());
    }
    if (answer != "started")
      throw std::runtime_error(answer.rfind("error ", 0) == 0 ? answer.substr(6) : answer);
  } catch (const std::exception& error) {
    ::kill(pod->holder, SIGKILL);
    waitpid(pod->holder, nullptr, 0);
    throw std::runtime_error("starting pod " + plan.name + ": " + error.what());
  }

  pod->output = output_read.get();
  pod->state.plan = std::move(plan);
  {
    std::lock_guard lock(mutex_);
    pods_[pod->state.plan.uid] = pod;
  }
  loop_.watch(std::move(output_read), [this, pod](int fd) { return read_output(pod, fd); });
  loop_.watch(std::move(process), [this, pod](int) {
    reap(pod);
    return false;
  });
}

bool Pods::read_output(const std::shared_ptr<Pod>& pod, int fd) {
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    if (count == 0) {
      if (!pod->partial_line.empty()) on_line_(pod->state.plan.name, pod->partial_line);
      pod->partial_line.clear();
      return false;
    }
    keep(*pod, std::string_view(buffer, static_cast<std::size_t>(count)));
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[i] != '\n' && pod->partial_line.size() < kLongestLine) {
        pod->partial_line += buffer[i];
        continue;
      }
      on_line_(pod->state.plan.name, pod->partial_line);
      pod->partial_line.clear();
    }
  }
}

void Pods::keep(const Pod& pod, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(pod.log.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const std::string why = std::strerror(errno);
      std::lock_guard lock(mutex_);
      if (pods_.contains(pod.state.plan.uid))  // not forgotten
        lost_output_.try_emplace(pod.state.plan.job, pod.state.plan.log_file + " lacks lines: " + why);
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Pods::reap(const std::shared_ptr<Pod>& pod) {
  const std::string message = trimmed_message(pod->state.plan.termination_file);
  {
    std::lock_guard lock(mutex_);  // nobody may signal the process id once it is reaped
    int status = 0;
    rusage usage{};
    wait4(pod->holder, &status, 0, &usage);   // it has ended: this does not wait
    if (pods_.contains(pod->state.plan.uid))  // not forgotten
      cpu_seconds_[pod->state.plan.job] += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    pod->state.exit_code = exit_code_of(status);
    pod->state.message = message;
    pod->holder = -1;
    if (pod->state.terminating) pods_.erase(pod->state.plan.uid);
  }
  changed_(pod->state.plan.job);
}

bool Pods::remove(const std::string& uid, std::chrono::milliseconds grace) {
  std::lock_guard lock(mutex_);
  auto entry = pods_.find(uid);
  if (entry == pods_.end()) return false;
  auto pod = entry->second;
  if (pod->state.exit_code) {
    pods_.erase(entry);
    changed_(pod->state.plan.job);
    return true;
  }
  if (pod->state.terminating) return true;
  pod->state.terminating = true;
  ::kill(pod->holder, SIGTERM);
  loop_.at(Clock::now() + grace, [this, pod] {
    std::lock_guard inner(mutex_);
    if (pod->holder > 0) ::kill(pod->holder, SIGKILL);
  });
  return true;
}

void Pods::kill(const JobKey& job) {
  std::lock_guard lock(mutex_);
  for (auto& [uid, pod] : pods_)
    if (pod->state.plan.job == job && pod->holder > 0) ::kill(pod->holder, SIGKILL);
}

void Pods::kill_all() {
  std::lock_guard lock(mutex_);
  for (auto& [uid, pod] : pods_)
    if (pod->holder > 0) ::kill(pod->holder, SIGKILL);
}

std::vector<PodState> Pods::list(const JobKey& job) const {
  std::lock_guard lock(mutex_);
  std::vector<PodState> states;
  for (const auto& [uid, pod] : pods_)
    if (pod->state.plan.job == job) states.push_back(pod->state);
  return states;
}

double Pods::cpu_seconds(const JobKey& job) const {
  std::lock_guard lock(mutex_);
  const auto entry = cpu_seconds_.find(job);
  return entry == cpu_seconds_.end() ? 0 : entry->second;
}

std::string Pods::lost_output(const JobKey& job) const {
  std::lock_guard lock(mutex_);
  const auto entry = lost_output_.find(job);
  return entry == lost_output_.end() ? "" : entry->second;
}

void Pods::forget(const JobKey& job) {
  kill(job);
  std::lock_guard lock(mutex_);
  std::erase_if(pods_, [&job](const auto& entry) { return entry.second->state.plan.job == job; });
  cpu_seconds_.erase(job);
  lost_output_.erase(job);
}

}  // namespace emj::local

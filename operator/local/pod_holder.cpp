// SPDX-License-Identifier: Apache-2.0
#include "operator/local/pod_holder.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "operator/local/process.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::local {

namespace {

constexpr int kControlFd = 3;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

void send_text(const std::string& text) { (void)!write(kControlFd, text.data(), text.size()); }

char read_byte(int fd) {
  char byte = 0;
  if (read(fd, &byte, 1) != 1) _exit(1);  // the job process is gone
  return byte;
}

std::string read_line() {
  std::string line;
  for (char byte; (byte = read_byte(kControlFd)) != '\n';) line += byte;
  return line;
}

void set_address(int socket, unsigned long request_code, in_addr value) {
  ifreq request{};
  std::strncpy(request.ifr_name, "eth0", IFNAMSIZ - 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = value;
  std::memcpy(&request.ifr_addr, &address, sizeof address);
  if (ioctl(socket, request_code, &request) != 0) fail("setting the address of eth0");
}

void configure_network(const PodProcess& pod) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) fail("opening a socket");
  set_interface_up("lo");
  in_addr address{};
  if (inet_pton(AF_INET, pod.address.c_str(), &address) != 1) fail("reading address " + pod.address);
  set_address(socket.get(), SIOCSIFADDR, address);
  set_address(socket.get(), SIOCSIFNETMASK, in_addr{htonl(~0u << (32 - kPodNetworkPrefix))});
  set_interface_up("eth0");
  std::string lines;
  for (const std::string& line : pod.shaping) lines += line + "\n";
  if (lines.empty()) return;
  const ProgramResult result = run_program({"tc", "-batch", "-"}, lines);
  if (!result.ok())
    throw std::runtime_error("limiting the pod's network with tc (" + lines + "): " + result.output);
}

void enter_own_view(const PodProcess& pod) {
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("making mounts private");
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) fail("mounting /proc");
  if (mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) fail("mounting /dev/shm");
  if (sethostname(pod.name.c_str(), pod.name.size()) != 0) fail("setting the host name");
  if (pod.isolation == Isolation::Namespaces) configure_network(pod);
}

[[noreturn]] void execute(const PodProcess& pod, const std::vector<std::string>& program) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> argv, environment;
  for (const std::string& text : program) argv.push_back(const_cast<char*>(text.c_str()));
  for (const std::string& text : pod.environment) environment.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  execve(argv[0], argv.data(), environment.data());
  fail("executing " + program[0]);
}

// The pod's process 1 until it executes the agent. A problem is written to `report`.
[[noreturn]] void become_agent(const PodProcess& pod, int go, int report) {
  read_byte(go);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    if (pod.isolation != Isolation::None) enter_own_view(pod);
    std::filesystem::create_directories(pod.run_dir);
    setsid();
    if (chdir(pod.working_directory.c_str()) != 0) fail("entering " + pod.working_directory);
    execute(pod, pod.agent);
  } catch (const std::exception& error) {
    (void)!write(report, error.what(), std::strlen(error.what()));
  }
  _exit(127);
}

pid_t start_sidecar(const PodProcess& pod, pid_t agent) {
  if (pod.sidecar.empty()) return -1;
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, agent, 0)));
  if (!process) return -1;  // the agent has ended already
  const bool isolated = pod.isolation != Isolation::None;
  // A pid namespace is entered by children only, the others by the caller: so this process stays outside.
  if (isolated && setns(process.get(), CLONE_NEWPID) != 0) return -1;
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int others = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  if (pod.isolation == Isolation::Namespaces) others |= CLONE_NEWNET;
  try {
    if (isolated && setns(process.get(), others) != 0) fail("entering the pod's namespaces for its sidecar");
    setsid();
    if (chdir(pod.working_directory.c_str()) != 0) fail("entering " + pod.working_directory);
    execute(pod, pod.sidecar);
  } catch (const std::exception& error) {
    const std::string text = std::string("sidecar: ") + error.what() + "\n";
    (void)!write(2, text.data(), text.size());
  }
  _exit(127);
}

// With a pid namespace the kernel ends whatever is left of a pod; without one, orphans come to us.
void end_what_is_left() {
  for (;;) {
    std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
    for (pid_t child; children >> child;) kill(child, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

int wait_for_agent(pid_t agent, const sigset_t& signals) {
  for (;;) {
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == agent) return exit_code_of(status);
    }
    siginfo_t info;
    if (sigwaitinfo(&signals, &info) == SIGTERM) kill(agent, SIGTERM);
  }
}

int hold(const PodProcess& pod, const sigset_t& signals) {
  auto [go_read, go_write] = make_pipe();
  auto [report_read, report_write] = make_pipe();
  int flags = 0;
  if (pod.isolation != Isolation::None)
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  if (pod.isolation == Isolation::Namespaces) flags |= CLONE_NEWNET;
  const pid_t agent = clone_process(flags);
  if (agent < 0) fail("making the pod's namespaces");
  if (agent == 0) {
    go_write.reset();
    become_agent(pod, go_read.get(), report_write.get());
  }
  report_write.reset();
  send_text("cloned " + std::to_string(agent) + "\n");
  if (read_line() != "go") _exit(1);
  (void)!write(go_write.get(), "g", 1);
  std::string problem;
  char buffer[512];
  for (ssize_t count; (count = read(report_read.get(), buffer, sizeof buffer)) > 0;)
    problem.append(buffer, count);
  if (!problem.empty()) {
    waitpid(agent, nullptr, 0);
    throw std::runtime_error(problem);
  }
  start_sidecar(pod, agent);
  send_text("started\n");
  const int code = wait_for_agent(agent, signals);
  end_what_is_left();
  if (pod.isolation == Isolation::None) std::filesystem::remove_all(pod.run_dir);
  return code;
}

}  // namespace

std::string encode(const PodProcess& pod) {
  return empi::json_text::safe_text(nlohmann::json{{"name", pod.name},
                                                   {"isolation", static_cast<int>(pod.isolation)},
                                                   {"parent", pod.parent},
                                                   {"address", pod.address},
                                                   {"runDir", pod.run_dir},
                                                   {"workingDirectory", pod.working_directory},
                                                   {"agent", pod.agent},
                                                   {"sidecar", pod.sidecar},
                                                   {"environment", pod.environment},
                                                   {"shaping", pod.shaping}});
}

PodProcess decode_pod_process(const std::string& text) {
  const auto j = empi::json_text::parse(text);
  PodProcess pod;
  j.at("name").get_to(pod.name);
  pod.isolation = static_cast<Isolation>(j.at("isolation").get<int>());
  j.at("parent").get_to(pod.parent);
  j.at("address").get_to(pod.address);
  j.at("runDir").get_to(pod.run_dir);
  j.at("workingDirectory").get_to(pod.working_directory);
  j.at("agent").get_to(pod.agent);
  j.at("sidecar").get_to(pod.sidecar);
  j.at("environment").get_to(pod.environment);
  j.at("shaping").get_to(pod.shaping);
  return pod;
}

int hold_pod() {
  fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  try {
    std::string text(std::stoul(read_line()), '\0');
    for (char& byte : text) byte = read_byte(kControlFd);
    const PodProcess pod = decode_pod_process(text);
    if (getppid() != pod.parent) return 1;  // it died before we asked for the parent-death signal
    return hold(pod, signals);
  } catch (const std::exception& error) {
    std::string text = error.what();
    for (char& byte : text) {
      if (byte == '\n') byte = ' ';
    }
    send_text("error " + text + "\n");
    return 127;
  }
}

}  // namespace emj::local

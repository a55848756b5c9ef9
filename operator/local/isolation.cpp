// SPDX-License-Identifier: Apache-2.0
#include "operator/local/isolation.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "operator/local/process.hpp"
#include "runtime/protocol/names.hpp"

namespace emj::local {

namespace {

constexpr auto& kIsolationVariable = empi::names::kLocalIsolation;
constexpr auto& kReasonVariable = empi::names::kLocalReason;
constexpr int kLifelineFd = 9;

std::string error_text() { return std::strerror(errno); }

// Maps from inside to inside: the new namespace has the ids that its parent has.
std::string identity_map(const std::string& own_map) {
  std::istringstream lines(own_map);
  std::string result;
  long inside = 0, outside = 0, count = 0;
  while (lines >> inside >> outside >> count) {
    result += std::to_string(inside) + " " + std::to_string(inside) + " " + std::to_string(count) + "\n";
  }
  return result;
}

bool write_once(const std::string& path, const std::string& text) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

int flags_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::Namespaces:
      return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET;
    case Isolation::SharedNetwork:
      return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
    case Isolation::None:
      return 0;
  }
  return 0;
}

// The child's side: everything up to the exec; a failure is one line in `report`.
[[noreturn]] void become_job(const std::vector<std::string>& arguments, Isolation isolation,
                             const std::string& reason, int go, int report, int lifeline) {
  const auto fail = [&](const std::string& text) {
    (void)!write(report, text.data(), text.size());
    _exit(1);
  };
  char byte = 0;
  if (read(go, &byte, 1) != 1) _exit(1);
  setpgid(0, 0);  // the terminal's Ctrl-C reaches the supervisor only, which passes it on once
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (isolation != Isolation::None) {
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      fail("making mounts private: " + error_text());
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
      fail("mounting /proc: " + error_text());
    }
  }
  if (isolation == Isolation::Namespaces) {
    try {
      set_interface_up("lo");
    } catch (const std::runtime_error& error) {
      fail(error.what());
    }
  }
  setenv(kIsolationVariable, to_string(isolation), 1);
  setenv(kReasonVariable, reason.c_str(), 1);
  if (lifeline == kLifelineFd) {
    fcntl(lifeline, F_SETFD, 0);
  } else if (dup2(lifeline, kLifelineFd) < 0) {
    fail("keeping the lifeline: " + error_text());
  }
  std::string program = own_program();
  std::vector<char*> argv{program.data()};
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  fail("executing " + program + ": " + error_text());
  _exit(1);
}

struct Job {
  pid_t pid = -1;
  UniqueFd lifeline;  // our end; the job process sees it close
};

// Throws std::runtime_error when this isolation is not to be had.
Job start_job(const std::vector<std::string>& arguments, Isolation isolation, const std::string& reason) {
  auto [go_read, go_write] = make_pipe();
  auto [report_read, report_write] = make_pipe();
  auto [lifeline_read, lifeline_write] = make_pipe();
  const pid_t pid = clone_process(flags_of(isolation));
  if (pid < 0) throw std::runtime_error("clone: " + error_text());
  if (pid == 0) {
    go_write.reset();
    lifeline_write.reset();
    become_job(arguments, isolation, reason, go_read.get(), report_write.get(), lifeline_read.get());
  }
  report_write.reset();
  std::string problem;
  try {
    if (isolation != Isolation::None) write_identity_maps(pid);
    (void)!write(go_write.get(), "g", 1);
    char buffer[512];
    for (ssize_t count; (count = read(report_read.get(), buffer, sizeof buffer)) > 0;)
      problem.append(buffer, count);
  } catch (const std::runtime_error& error) {
    problem = error.what();
  }
  if (!problem.empty()) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw std::runtime_error(problem);
  }
  return {pid, std::move(lifeline_write)};
}

int pass_signals_until_end(pid_t pid, const sigset_t& signals) {
  for (;;) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) return exit_code_of(status);
    siginfo_t info;
    const int signal = sigwaitinfo(&signals, &info);
    if (signal > 0 && signal != SIGCHLD) kill(pid, signal);
  }
}

}  // namespace

const char* to_string(Isolation isolation) {
  switch (isolation) {
    case Isolation::Namespaces:
      return "namespaces";
    case Isolation::SharedNetwork:
      return "shared-network";
    case Isolation::None:
      return "none";
  }
  return "none";
}

int clone_process(int namespace_flags) {
  if (namespace_flags == 0) return fork();
  return static_cast<int>(syscall(SYS_clone, namespace_flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void write_identity_maps(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  const std::string uids = identity_map(read_file("/proc/self/uid_map").value_or(""));
  const std::string gids = identity_map(read_file("/proc/self/gid_map").value_or(""));
  if (geteuid() == 0 && write_once(folder + "uid_map", uids) && write_once(folder + "gid_map", gids)) return;
  const std::string uid = "0 " + std::to_string(geteuid()) + " 1\n";
  const std::string gid = "0 " + std::to_string(getegid()) + " 1\n";
  write_once(folder + "setgroups", "deny");
  if (!write_once(folder + "uid_map", uid) || !write_once(folder + "gid_map", gid)) {
    throw std::runtime_error("mapping user ids: " + error_text());
  }
}

void set_interface_up(const char* name) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  const bool known = ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags |= IFF_UP | IFF_RUNNING;
  if (!known || ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) {
    throw std::runtime_error(std::string("bringing up interface ") + name + ": " + error_text());
  }
}

int supervise(const std::vector<std::string>& arguments, Isolation wanted) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::string reason;
  for (Isolation isolation : {Isolation::Namespaces, Isolation::SharedNetwork, Isolation::None}) {
    if (isolation < wanted) continue;
    try {
      Job job = start_job(arguments, isolation, reason);
      return pass_signals_until_end(job.pid, signals);
    } catch (const std::runtime_error& error) {
      if (reason.empty()) reason = error.what();
      if (isolation == Isolation::None) throw;
    }
  }
  return 1;
}

bool inside_job(JobNamespaces& out) {
  const char* isolation = getenv(kIsolationVariable);
  if (!isolation) return false;
  for (Isolation candidate : {Isolation::Namespaces, Isolation::SharedNetwork, Isolation::None}) {
    if (std::strcmp(isolation, to_string(candidate)) == 0) out.isolation = candidate;
  }
  const char* reason = getenv(kReasonVariable);
  out.reason = reason ? reason : "";
  unsetenv(kIsolationVariable);
  unsetenv(kReasonVariable);
  out.lifeline = kLifelineFd;
  fcntl(kLifelineFd, F_SETFD, FD_CLOEXEC);
  signal(SIGTTOU, SIG_IGN);  // we are no foreground process group, and write to the terminal all the same
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd supervisor{kLifelineFd, 0, 0};
  if (poll(&supervisor, 1, 0) > 0 && (supervisor.revents & POLLHUP)) _exit(1);  // it died before we asked
  return true;
}

}  // namespace emj::local

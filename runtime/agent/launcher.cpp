// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/agent/janitor.hpp"
#include "runtime/agent/mpi_parameters.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi::agent {
namespace {

struct Pipe {
  UniqueFd read_end, write_end;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
      throw std::system_error(errno, std::generic_category(), "cannot make a rank's pipe");
    read_end = UniqueFd(ends[0]);
    write_end = UniqueFd(ends[1]);
  }
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (const std::string& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Whether the process has one for this signal: bit signal - 1 of SigCgt, proc_pid_status(5).
bool has_handler(pid_t pid, int signal) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigCgt:"))
      return (std::strtoull(line.c_str() + std::strlen("SigCgt:"), nullptr, 16) >> (signal - 1)) & 1;
  return false;
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_rank(pid_t agent, int out, int err, int messages, char* const argv[],
                              char* const environment[]) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(1);  // it died before we asked
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(out, 1);
  dup2(err, 2);
  dup2(messages, kMpiMessagesFd);
  fcntl(kMpiMessagesFd, F_SETFD, 0);  // it may have had that number before
  sigset_t none;
  sigemptyset(&none);
  for (int signal : {SIGPIPE, SIGCHLD, SIGTERM, SIGINT}) ::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_range(3, kMpiMessagesFd - 1, 0);
  close_range(kMpiMessagesFd + 1, ~0u, 0);
  environ = const_cast<char**>(environment);
  execvp(argv[0], argv);
  const char* why = std::strerror(errno);
  for (const char* part : {"cannot run '", static_cast<const char*>(argv[0]), "': ", why, "\n"})
    if (write(2, part, std::strlen(part)) < 0) break;
  _exit(127);
}

}  // namespace

Launcher::~Launcher() {
  kill_all(SIGKILL);
  while (!ranks_.empty()) {
    int status;
    const pid_t pid = waitpid(ranks_.begin()->first, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    ranks_.erase(ranks_.begin());
  }
}

void Launcher::launch(const ProcId& proc, const std::vector<std::string>& command,
                      const std::vector<std::string>& environment) {
  Pipe out, err, messages;
  const std::vector<char*> argv = pointers(command), env = pointers(environment);
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "cannot start a rank");
  if (pid == 0)
    become_rank(agent, out.write_end.get(), err.write_end.get(), messages.write_end.get(), argv.data(),
                env.data());
  setpgid(pid, pid);  // both sides, so that it holds whoever comes first
  janitor_.group_started(pid);
  ranks_.emplace(pid, Rank{proc});
  output_.add(proc, std::move(out.read_end), 1);
  output_.add(proc, std::move(err.read_end), 2);
  output_.add(proc, std::move(messages.read_end), kMpiMessages);
}

std::vector<RankExit> Launcher::reap() {
  std::vector<RankExit> exits;
  for (;;) {
    int status;
    siginfo_t info{};
    // Look first: the janitor's end is its owner's business.
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0) return exits;
    if (info.si_pid == janitor_.pid()) {
      janitor_.was_killed();
      continue;
    }
    const pid_t pid = waitpid(info.si_pid, &status, WNOHANG);
    auto at = ranks_.find(pid);
    if (at == ranks_.end()) continue;
    ::kill(-pid, SIGKILL);  // what it left behind in its group
    janitor_.group_ended(pid);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (!at->second.killed_by_us && status != 0) output_.failed(at->second.proc);
    exits.push_back({at->second.proc, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + signal, signal});
    ranks_.erase(at);
  }
}

void Launcher::kill(const ProcId& proc, int signal) {
  for (auto& [pid, rank] : ranks_)
    if (rank.proc == proc) send(pid, rank, signal);
}

void Launcher::kill_all(int signal) {
  for (auto& [pid, rank] : ranks_) send(pid, rank, signal);
}

void Launcher::signal_all(int signal) const {
  for (const auto& [pid, rank] : ranks_) ::kill(-pid, signal);
}

std::optional<ProcId> Launcher::without_handler(int signal) const {
  for (const auto& [pid, rank] : ranks_)
    if (!has_handler(pid, signal)) return rank.proc;
  return std::nullopt;
}

void Launcher::send(pid_t pid, Rank& rank, int signal) {
  rank.killed_by_us = true;
  ::kill(-pid, signal);
}

}  // namespace empi::agent

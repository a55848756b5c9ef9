// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/janitor.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "runtime/base/log.hpp"

namespace empi::agent {
namespace {

void remove(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
}

// Runs in the child: reads process groups (negative: ended) until the agent is gone.
[[noreturn]] void wait_and_clean(int pipe, const std::vector<std::string>& folders) {
  prctl(PR_SET_NAME, "empi-janitor");
  setsid();
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  std::set<pid_t> groups;
  for (;;) {
    pid_t entry;
    const ssize_t n = read(pipe, &entry, sizeof entry);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof entry) break;
    if (entry > 0)
      groups.insert(entry);
    else
      groups.erase(-entry);
  }
  for (pid_t group : groups) kill(-group, SIGKILL);
  remove(folders);
  _exit(0);
}

}  // namespace

Janitor::Janitor(const std::vector<std::string>& folders) : folders_(folders) {
  int ends[2];
  if (pipe(ends)) throw std::system_error(errno, std::generic_category(), "cannot start the agent's janitor");
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot start the agent's janitor");
  if (pid_ == 0) {
    close(ends[1]);
    // Standard output and error are the agent's: whoever waits for them to close must not wait for us.
    for (int fd = 0; fd < 3; ++fd) close(fd);
    wait_and_clean(ends[0], folders);
  }
  close(ends[0]);
  pipe_ = UniqueFd(ends[1]);
  fcntl(pipe_.get(), F_SETFD, FD_CLOEXEC);
}

Janitor::~Janitor() {
  pipe_.reset();
  if (pid_ < 0) remove(folders_);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Janitor::was_killed() {
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  log::warn(
      "the agent's janitor was killed: should the agent be killed, too, what its ranks have started stays");
  pid_ = -1;
  pipe_.reset();
}

void Janitor::group_started(pid_t group) { tell(group); }
void Janitor::group_ended(pid_t group) { tell(-group); }

void Janitor::tell(pid_t entry) {
  if (pipe_ && write(pipe_.get(), &entry, sizeof entry) < 0) return;  // killed, and not taken in yet
}

}  // namespace empi::agent

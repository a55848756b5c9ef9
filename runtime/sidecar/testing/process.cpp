#include "runtime/sidecar/testing/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace empi::sidecar::testing {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> arguments = command, variables = environment;
  for (char** v = environ; *v; ++v) variables.emplace_back(*v);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = ::posix_spawnp(&pid_, arguments[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                   pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  out_ = ends[0];
  if (error != 0) {
    pid_ = -1;
    ::close(out_);
    throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(error));
  }
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(out_);
}

std::string Process::line(int timeout_seconds) {
  std::string text;
  for (char c = 0;;) {
    pollfd p{out_, POLLIN, 0};
    if (::poll(&p, 1, timeout_seconds * 1000) <= 0)
      throw std::runtime_error("no line within " + std::to_string(timeout_seconds) + " s, only: " + text);
    if (::read(out_, &c, 1) != 1) throw std::runtime_error("the program closed its output after: " + text);
    if (c == '\n') return text;
    text += c;
  }
}

int Process::stop(int signal, int timeout_seconds) {
  ::kill(pid_, signal);
  return wait(timeout_seconds);
}

int Process::wait(int timeout_seconds) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd p{handle, POLLIN, 0};
  const bool ended = ::poll(&p, 1, timeout_seconds * 1000) == 1;
  ::close(handle);
  if (!ended)
    throw std::runtime_error("the program did not end within " + std::to_string(timeout_seconds) + " s");
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace empi::sidecar::testing

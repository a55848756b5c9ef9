// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/testing/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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

Process::Process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                 const std::string& log) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> arguments = command, variables = environment;
  for (char** v = environ; *v; ++v) variables.emplace_back(*v);
  const std::vector<char*> argument_list = pointers(arguments), variable_list = pointers(variables);
  pid_ = ::fork();
  if (pid_ == 0) {                       // only what is safe between fork and exec
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it must not outlive a test that was killed
    const int file = log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file >= 0 ? file : ends[1], STDOUT_FILENO);
    if (file >= 0) ::dup2(file, STDERR_FILENO);
    ::execvpe(argument_list[0], argument_list.data(), variable_list.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  out_ = ends[0];
  if (pid_ < 0) {
    ::close(out_);
    throw std::runtime_error("cannot start " + command[0] + ": " + std::strerror(errno));
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

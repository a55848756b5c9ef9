// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/external/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>

extern char** environ;

namespace surrogate {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kLongestLine = std::size_t{64} << 20;
// waitpid() has no deadline.
constexpr milliseconds kLook{2}, kLookBeside{50};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool belongs_to_a_rank(std::string_view entry) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"OMPI_", "PMIX_", "PRTE_", "EMPI_", "LD_PRELOAD="},
      [&](std::string_view prefix) { return entry.starts_with(prefix); });
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

int milliseconds_until(Deadline until) {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// From fork() on: nothing but what a signal handler may call. Tells its errno, for the parent to say.
[[noreturn]] void become(char* const* words, char* const* environment, const char* folder, int input,
                         int output, int said) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
      (*folder == 0 || chdir(folder) == 0))
    execvpe(words[0], words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(said, &error, sizeof error);
  _exit(127);
}

}  // namespace

Deadline deadline_in(double seconds) {
  return steady_clock::now() +
         std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

Child::Child(const Start& start) {
  std::vector<std::string> words = start.words, environment = start.environment;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!belongs_to_a_rank(*entry)) environment.emplace_back(*entry);
  const std::vector<char*> arguments = pointers(words), variables = pointers(environment);

  // A socket for its input: a write after its end is an error and not SIGPIPE.
  int in[2], out[2], said[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) fail("no pipe to " + words.at(0));
  const empi::UniqueFd theirs(in[0]);
  input_ = empi::UniqueFd(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0) fail("no pipe from " + words[0]);
  output_ = empi::UniqueFd(out[0]);
  empi::UniqueFd end(out[1]);
  if (pipe2(said, O_CLOEXEC) != 0) fail("no pipe from " + words[0]);
  const empi::UniqueFd error_from(said[0]);
  empi::UniqueFd error_to(said[1]);

  pid_ = fork();
  if (pid_ < 0) fail("cannot start " + words[0]);
  if (pid_ == 0)
    become(arguments.data(), variables.data(), start.folder.c_str(), theirs.get(), end.get(), error_to.get());
  end.reset();
  error_to.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(error_from.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return;
  reap(true);
  throw std::runtime_error("cannot start " + words[0] + ": " + std::strerror(error));
}

Child::~Child() { kill_all(); }

// Whoever of its group has outlived it, too.
void Child::kill_all() {
  kill(-pid_, SIGKILL);
  if (!status_) reap(true);
}

bool Child::reap(bool block) {
  if (status_) return true;
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &status, block ? 0 : WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == pid_) status_ = status;
  if (got < 0) status_ = 0;  // somebody else waits for all children of this process
  return status_.has_value();
}

bool Child::running() { return !reap(false); }

bool Child::write_line(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = send(input_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

std::optional<std::string> Child::read_line(Deadline until) {
  for (std::size_t looked = 0;;) {
    if (const auto at = buffer_.find('\n', looked); at != std::string::npos) {
      std::string line = buffer_.substr(0, at);
      buffer_.erase(0, at + 1);
      return line;
    }
    looked = buffer_.size();
    pollfd ready{output_.get(), POLLIN, 0};
    const int count = poll(&ready, 1, milliseconds_until(until));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || looked > kLongestLine) return std::nullopt;
    char part[65536];
    const ssize_t got = read(output_.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    buffer_.append(part, static_cast<std::size_t>(got));
  }
}

std::string Child::wait(Deadline until) {
  input_.reset();
  // Its output is read while it runs, or a full pipe would stop it; not to its end, for what it leaves behind
  // keeps that open. With its end it usually ends itself: then it is looked for more often.
  int from = output_.get();
  while (!reap(false)) {
    const auto now = steady_clock::now();
    if (now >= until) {
      kill_all();
      return "no end in time";
    }
    pollfd ready{from, POLLIN, 0};  // without one, poll() only sleeps
    if (poll(&ready, 1, milliseconds_until(std::min(until, now + (from < 0 ? kLook : kLookBeside)))) <= 0)
      continue;
    char part[65536];
    if (const ssize_t got = read(from, part, sizeof part); got == 0 || (got < 0 && errno != EINTR)) from = -1;
  }
  kill_all();
  if (WIFEXITED(*status_))
    return WEXITSTATUS(*status_) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(*status_));
  const int signal = WTERMSIG(*status_);
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

}  // namespace surrogate

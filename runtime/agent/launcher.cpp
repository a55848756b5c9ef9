#include "runtime/agent/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/agent/janitor.hpp"
#include "runtime/agent/output.hpp"

namespace empi::agent {
namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
      throw std::system_error(errno, std::generic_category(), "cannot make a rank's pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    if (read_end >= 0) close(read_end);
    close(write_end);
  }
  int take_read_end() { return std::exchange(read_end, -1); }
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (const std::string& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_rank(pid_t agent, int out, int err, char* const argv[], char* const environment[]) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(1);  // it died before we asked
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(out, 1);
  dup2(err, 2);
  sigset_t none;
  sigemptyset(&none);
  for (int signal : {SIGPIPE, SIGCHLD, SIGTERM, SIGINT}) ::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_range(3, ~0u, 0);
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
  Pipe out, err;
  const std::vector<char*> argv = pointers(command), env = pointers(environment);
  const pid_t agent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "cannot start a rank");
  if (pid == 0) become_rank(agent, out.write_end, err.write_end, argv.data(), env.data());
  setpgid(pid, pid);  // both sides, so that it holds whoever comes first
  janitor_.group_started(pid);
  ranks_.emplace(pid, proc);
  output_.add(proc, out.take_read_end(), 1);
  output_.add(proc, err.take_read_end(), 2);
}

std::vector<RankExit> Launcher::reap() {
  std::vector<RankExit> exits;
  for (;;) {
    int status;
    siginfo_t info{};
    // Look first: the janitor is waited for by its owner.
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == 0) return exits;
    if (info.si_pid == janitor_.pid()) return exits;
    const pid_t pid = waitpid(info.si_pid, &status, WNOHANG);
    auto at = ranks_.find(pid);
    if (at == ranks_.end()) continue;
    ::kill(-pid, SIGKILL);  // what it left behind in its group
    janitor_.group_ended(pid);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exits.push_back({at->second, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + signal, signal});
    ranks_.erase(at);
  }
}

void Launcher::kill(const ProcId& proc, int signal) {
  for (const auto& [pid, owner] : ranks_)
    if (owner == proc) ::kill(-pid, signal);
}

void Launcher::kill_all(int signal) {
  for (const auto& [pid, owner] : ranks_) ::kill(-pid, signal);
}

}  // namespace empi::agent

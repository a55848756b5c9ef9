// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/restart_notice.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "runtime/base/json_text.hpp"
#include "runtime/base/unique_fd.hpp"

namespace empi::agent {
namespace {

constexpr std::array<std::pair<const char*, int>, 5> kSignals{
    {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP}}};

int signal_of(const std::string& name) {
  for (const auto& [known, number] : kSignals)
    if (name == known) return number;
  throw std::invalid_argument("the signal of a restart is '" + name +
                              "': expected USR1, USR2, TERM, INT or HUP");
}

// In a session of its own, and without the signals that the agent has blocked.
void run(const std::vector<std::string>& command) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words.front(), nullptr, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error) throw std::system_error(error, std::generic_category(), "cannot run '" + command.front() + "'");
}

}  // namespace

RestartNotice restart_notice_from(const std::string& text) {
  RestartNotice notice;
  if (text.empty()) return notice;
  try {
    const nlohmann::json object = json_text::parse(text);
    if (object.contains("signal")) notice.signal = signal_of(object["signal"].get<std::string>());
    notice.file = object.value("file", "");
    notice.command = object.value("command", std::vector<std::string>{});
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument("a restart's notice is '" + text +
                                "': expected {\"signal\": ...}, {\"file\": ...} or {\"command\": [...]}");
  }
  if ((notice.signal != 0) + !notice.file.empty() + !notice.command.empty() != 1)
    throw std::invalid_argument("a restart's notice is '" + text +
                                "': expected one of signal, file and command");
  return notice;
}

void withdraw(const RestartNotice& notice) {
  if (notice.file.empty() || unlink(notice.file.c_str()) == 0 || errno == ENOENT) return;
  throw std::system_error(errno, std::generic_category(), "cannot remove '" + notice.file + "'");
}

void give(const RestartNotice& notice, const std::function<void(int signal)>& to_ranks) {
  if (notice.signal != 0) {
    to_ranks(notice.signal);
  } else if (!notice.file.empty()) {
    const UniqueFd file(open(notice.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!file) throw std::system_error(errno, std::generic_category(), "cannot make '" + notice.file + "'");
  } else {
    run(notice.command);
  }
}

}  // namespace empi::agent

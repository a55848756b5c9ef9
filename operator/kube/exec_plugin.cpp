// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/exec_plugin.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "operator/api/time.hpp"
#include "operator/kube/config.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/unique_fd.hpp"

namespace emj::kube {

namespace {

using nlohmann::json;

[[noreturn]] void fail(const ExecPlugin& plugin, const std::string& what) {
  throw ConfigError(plugin.origin + ": " + plugin.command + " " + what);
}

std::string with_hint(const ExecPlugin& plugin, const std::string& what) {
  return plugin.install_hint.empty() ? what : what + "; " + plugin.install_hint;
}

// What a plugin finds in KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecPlugin& plugin) {
  json info = {
      {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  if (!plugin.cluster.empty()) info["spec"]["cluster"] = empi::json_text::parse(plugin.cluster);
  return empi::json_text::safe_text(info);
}

std::vector<std::string> environment_for(const ExecPlugin& plugin) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    merged[text.substr(0, text.find('='))] = text.substr(std::min(text.size(), text.find('=') + 1));
  }
  for (const auto& [name, value] : plugin.environment) merged[name] = value;
  merged["KUBERNETES_EXEC_INFO"] = exec_info(plugin);
  std::vector<std::string> entries;
  for (const auto& [name, value] : merged) entries.emplace_back(name).append("=").append(value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The program in a process group of its own, so that what it starts ends with it.
class Child {
 public:
  explicit Child(const ExecPlugin& plugin) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      fail(plugin, std::string("cannot be started: ") + std::strerror(errno));
    output_ = empi::UniqueFd(ends[0]);
    const empi::UniqueFd theirs(ends[1]);
    std::vector<std::string> words{plugin.command}, variables = environment_for(plugin);
    words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const int failed = posix_spawnp(&pid_, words[0].c_str(), &actions, &attributes, pointers(words).data(),
                                    pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed == 0) return;
    pid_ = -1;
    fail(plugin, with_hint(plugin, std::string("cannot be started (") + std::strerror(failed) +
                                       "): install it, or put it on PATH"));
  }
  ~Child() {
    if (pid_ > 0) end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int output() const { return output_.get(); }

  // Kills what still runs of it.
  int end() {
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }
  // Its wait status, when it has ended by then.
  std::optional<int> end_by(Instant deadline) {
    int status = 0;
    for (;;) {
      const pid_t ended = waitpid(pid_, &status, WNOHANG);
      if (ended == pid_) {
        kill(-pid_, SIGKILL);  // what it has left behind
        pid_ = -1;
        return status;
      }
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      poll(nullptr, 0, 10);
    }
  }

 private:
  pid_t pid_ = -1;
  empi::UniqueFd output_;
};

// Until the end of its output.
std::string read_output(const ExecPlugin& plugin, const Child& child, Instant deadline) {
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    const auto left = std::chrono::ceil<Millis>(deadline - std::chrono::steady_clock::now()).count();
    pollfd entry{child.output(), POLLIN, 0};
    const int ready = left > 0 ? poll(&entry, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return text;
    const ssize_t got = read(child.output(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kLongestCredential)
      fail(plugin, "prints more than a credential: expected one JSON object");
  }
}

std::string text_in(const ExecPlugin& plugin, const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) fail(plugin, std::string("prints a ") + name + " that is no text");
  return found->get<std::string>();
}

}  // namespace

ExecCredential read_credential(const ExecPlugin& plugin, const std::string& printed) {
  const json object = empi::json_text::try_parse(printed, {empi::json_text::kDeepestMessage, 10'000});
  // What it printed is not repeated: it may hold the secret.
  if (!object.is_object()) fail(plugin, "prints no JSON object: expected an ExecCredential");
  if (text_in(plugin, object, "kind") != "ExecCredential")
    fail(plugin,
         "prints a '" + text_in(plugin, object, "kind").substr(0, 100) + "': expected an ExecCredential");
  const std::string version = text_in(plugin, object, "apiVersion");
  if (version != plugin.api_version)
    fail(plugin, "prints apiVersion '" + version.substr(0, 100) + "': expected " + plugin.api_version +
                     ", as the kubeconfig has it");
  const auto status = object.find("status");
  if (status == object.end() || !status->is_object()) fail(plugin, "prints a credential without status");
  ExecCredential credential{.token = text_in(plugin, *status, "token"),
                            .certificate = text_in(plugin, *status, "clientCertificateData"),
                            .key = text_in(plugin, *status, "clientKeyData")};
  if (credential.certificate.empty() != credential.key.empty())
    fail(plugin, "prints one of clientCertificateData and clientKeyData: they belong together");
  if (credential.token.empty() && credential.key.empty())
    fail(plugin, "prints neither token nor clientCertificateData with clientKeyData");
  const std::string expires = text_in(plugin, *status, "expirationTimestamp");
  if (expires.empty()) return credential;
  const auto time = parse_time(expires);
  if (!time)
    fail(plugin,
         "prints expirationTimestamp '" + expires.substr(0, 100) + "': expected 2026-01-31T12:00:00Z");
  credential.expires = *time;
  return credential;
}

ExecCredential run_plugin(const ExecPlugin& plugin, Millis patience) {
  const Instant deadline = std::chrono::steady_clock::now() + patience;
  Child child(plugin);
  const std::string printed = read_output(plugin, child, deadline);
  const std::optional<int> status = child.end_by(deadline);
  if (!status)
    fail(plugin, "has not ended within " + std::to_string(patience.count()) +
                     " ms: run it by hand; perhaps it waits for somebody to log in");
  if (WIFSIGNALED(*status)) fail(plugin, "was ended by signal " + std::to_string(WTERMSIG(*status)));
  if (WEXITSTATUS(*status) != 0)
    fail(plugin, with_hint(plugin, "ended with status " + std::to_string(WEXITSTATUS(*status)) +
                                       ": its own words are above; log in again"));
  return read_credential(plugin, printed);
}

}  // namespace emj::kube

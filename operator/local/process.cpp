// SPDX-License-Identifier: Apache-2.0
#include "operator/local/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

extern char** environ;

namespace emj::local {

namespace {

constexpr std::size_t kLongestFile = std::size_t{256} << 20;  // a device may have no end

[[noreturn]] void throw_errno(const std::string& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) throw_errno("reading random bytes");
  return bytes;
}

// Ends in " (deleted)" when the file was replaced or removed.
std::filesystem::path own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw std::system_error(error, "reading /proc/self/exe");
  return path;
}

std::string hexadecimal(const std::string& bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

std::pair<UniqueFd, UniqueFd> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("making a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::pair<UniqueFd, UniqueFd> make_socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("making a socket pair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

ProgramResult run_program(const std::vector<std::string>& argv, const std::string& input) {
  auto [in_read, in_write] = make_pipe();
  auto [out_read, out_write] = make_pipe();
  // What we feed is a handful of lines, far below the capacity of a pipe: no deadlock, no thread.
  if (!input.empty() && write(in_write.get(), input.data(), input.size()) < 0)
    throw_errno("feeding " + argv[0]);
  in_write.reset();

  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.actions, in_read.get(), 0);
  posix_spawn_file_actions_adddup2(&settings.actions, out_write.get(), 1);
  posix_spawn_file_actions_adddup2(&settings.actions, out_write.get(), 2);
  pid_t pid = -1;
  auto arguments = pointers(argv);
  int error =
      posix_spawnp(&pid, argv[0].c_str(), &settings.actions, &settings.attributes, arguments.data(), environ);
  // Debian's tc, which is no program of administrators alone, is where the PATH of an ordinary user does not
  // look.
  for (const char* folder : {"/usr/sbin/", "/sbin/"})
    if (error == ENOENT && argv[0].find('/') == std::string::npos)
      error = posix_spawn(&pid, (folder + argv[0]).c_str(), &settings.actions, &settings.attributes,
                          arguments.data(), environ);
  if (error != 0) return {127, argv[0] + ": " + std::generic_category().message(error)};
  out_write.reset();

  ProgramResult result;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = read(out_read.get(), buffer.data(), buffer.size());
    if (count > 0) result.output.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = exit_code_of(status);
  while (!result.output.empty() && result.output.back() == '\n') result.output.pop_back();
  return result;
}

pid_t spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::vector<std::pair<int, int>>& descriptors) {
  SpawnSettings settings;
  for (auto [from, to] : descriptors) posix_spawn_file_actions_adddup2(&settings.actions, from, to);
  pid_t pid = -1;
  auto arguments = pointers(argv);
  auto variables = pointers(environment);
  const int error = posix_spawn(&pid, argv[0].c_str(), &settings.actions, &settings.attributes,
                                arguments.data(), variables.data());
  if (error != 0) throw_errno("starting " + argv[0], error);
  return pid;
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string own_program() {
  const auto path = own_path();
  // Replaced by a newer build while it runs: the kernel still has the file.
  return std::filesystem::exists(path) ? path.string() : "/proc/self/exe";
}

std::filesystem::path own_folder() { return own_path().parent_path(); }

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), X_OK) == 0) return name;
    return std::nullopt;
  }
  std::string beside = own_folder() / name;
  if (access(beside.c_str(), X_OK) == 0) return beside;
  const char* path = getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

std::string random_uuid() {
  std::string bytes = random_bytes(16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  const std::string text = hexadecimal(bytes);
  return text.substr(0, 8) + "-" + text.substr(8, 4) + "-" + text.substr(12, 4) + "-" + text.substr(16, 4) +
         "-" + text.substr(20);
}

std::string random_token() { return hexadecimal(random_bytes(32)); }

bool can_be_read_again(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

std::optional<std::string> read_file(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return std::nullopt;  // it opens, as an empty file
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 1 << 16> part;
  while (file.read(part.data(), part.size()), file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLongestFile) return std::nullopt;
  }
  return text;
}

void write_file_atomically(const std::string& path, const std::string& text, unsigned mode) {
  const std::string temporary = path + ".new";
  UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!file) throw_errno("creating " + temporary);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) throw_errno("writing " + temporary);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) throw_errno("renaming " + temporary + " to " + path);
}

}  // namespace emj::local

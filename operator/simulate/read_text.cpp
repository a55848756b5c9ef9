// SPDX-License-Identifier: Apache-2.0
// Files, plain or compressed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "operator/simulate/trace.hpp"
#include "runtime/base/unique_fd.hpp"

extern char** environ;

namespace emj::simulate {
namespace {

constexpr std::string_view kXzMagic(
    "\xFD"
    "7zXZ\0",
    6);

// Everything up to the end; nothing when that cannot be read, with errno.
std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

struct Pipe {
  empi::UniqueFd read_end, write_end;

  bool open() {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = empi::UniqueFd(ends[0]);
    write_end = empi::UniqueFd(ends[1]);
    return true;
  }
};

TraceError trouble(const std::string& path, const std::string& what) { return {path + ": " + what}; }

// What `xz -dc` makes of the file. It fails on data that is cut off or altered, after it has written some.
empi::Expected<std::string, TraceError> decompressed(const std::string& path) {
  Pipe output, messages;
  if (!output.open() || !messages.open())
    return trouble(path, std::string("cannot make a pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages.write_end.get(), STDERR_FILENO);
  std::string file = path;
  std::array<std::string, 3> words = {"xz", "-dc", "--"};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), file.data(), nullptr};
  pid_t child = -1;
  const int failed = posix_spawnp(&child, "xz", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return trouble(path, std::string("needs the program xz to be read (") + std::strerror(failed) +
                             "): install xz-utils, or decompress the file elsewhere");
  output.write_end.reset();
  messages.write_end.reset();
  auto text = read_all(output.read_end.get());
  std::string said = read_all(messages.read_end.get()).value_or("");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return trouble(path, "cannot be read while it is decompressed");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    said = said.substr(0, said.find('\n'));
    return trouble(path, "is cut off or damaged, nothing of it is used: fetch it again (" + said + ")");
  }
  return std::move(*text);
}

}  // namespace

empi::Expected<std::string, TraceError> read_text(const std::string& path) {
  const empi::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return trouble(path, std::string("cannot be opened: ") + std::strerror(errno));
  auto text = read_all(file.get());
  if (!text) return trouble(path, std::string("cannot be read: ") + std::strerror(errno));
  if (path.ends_with(".xz") || text->starts_with(kXzMagic)) return decompressed(path);
  if (text->starts_with("\x1f\x8b"))
    return trouble(path, "is compressed by gzip; expected plain text or xz: gunzip it");
  return std::move(*text);
}

}  // namespace emj::simulate

// SPDX-License-Identifier: Apache-2.0
// Files, plain or compressed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "operator/simulate/trace.hpp"
#include "runtime/base/unique_fd.hpp"

extern char** environ;

namespace emj::simulate {
namespace {

constexpr std::string_view kXzMagic(
    "\xFD"
    "7zXZ\0",
    6);

constexpr std::string_view kGzipMagic("\x1f\x8b");
constexpr std::size_t kLongestText = std::size_t{1} << 30;  // the longest trace of the archive has a tenth

TraceError trouble(const std::string& path, const std::string& what) { return {path + ": " + what}; }

// Appends what comes next, at most so much. 0: nothing, that is the end; below 0: it cannot be read, with
// errno.
ssize_t append_some(int fd, std::string& text, std::size_t most = 1 << 16) {
  const std::size_t before = text.size();
  text.resize(before + most);
  ssize_t got = 0;
  do got = ::read(fd, text.data() + before, most);
  while (got < 0 && errno == EINTR);
  text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return got;
}

// All of it, after what has been read already. What is no text is left as soon as that shows: it may have no
// end.
empi::Expected<std::string, TraceError> rest_of_text(int fd, const std::string& path, std::string text = {}) {
  for (std::size_t looked_at = 0;;) {
    if (text.find('\0', looked_at) != text.npos)
      return trouble(path, "is no text (it has bytes of 0): expected a trace, plain or compressed by xz");
    if (text.size() > kLongestText) return trouble(path, "is longer than 1 GiB, which no trace is");
    looked_at = text.size();
    const ssize_t got = append_some(fd, text);
    if (got < 0) return trouble(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) return text;
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
  auto text = rest_of_text(output.read_end.get(), path);
  output.read_end.reset();  // if that was not all of it, xz ends now
  std::string said;
  while (append_some(messages.read_end.get(), said) > 0) {
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return text;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    said = said.substr(0, said.find('\n'));
    return trouble(path, "is cut off or damaged, nothing of it is used: fetch it again (" + said + ")");
  }
  return text;
}

}  // namespace

empi::Expected<std::string, TraceError> read_text(const std::string& path) {
  const empi::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return trouble(path, std::string("cannot be opened: ") + std::strerror(errno));
  std::string text;
  if (append_some(file.get(), text) < 0)
    return trouble(path, std::string("cannot be read: ") + std::strerror(errno));
  if (path.ends_with(".xz") || text.starts_with(kXzMagic)) return decompressed(path);
  if (text.starts_with(kGzipMagic))
    return trouble(path, "is compressed by gzip; expected plain text or xz: gunzip it");
  return rest_of_text(file.get(), path, std::move(text));
}

}  // namespace emj::simulate

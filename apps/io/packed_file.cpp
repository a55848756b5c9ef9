// SPDX-License-Identifier: Apache-2.0
#include "apps/io/packed_file.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/io/file_error.hpp"

extern char** environ;

namespace io {
namespace {

// What `xz -dc path` writes. The package xz-utils is everywhere; its library's headers are not.
std::vector<char> unpack(const std::string& path, const std::string& get_again) {
  read_bytes(path);  // for its errors: missing, unreadable, empty
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw FileError(path, "", "to unpack it", "no pipe: " + std::string(std::strerror(errno)), "");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const char* words[] = {"xz", "-dcq", "--", path.c_str(), nullptr};
  pid_t child = 0;
  const int started = posix_spawnp(&child, "xz", &actions, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::vector<char> bytes;
  if (started == 0) {
    char part[65536];
    ssize_t got = 0;
    while ((got = read(ends[0], part, sizeof part)) > 0 || (got < 0 && errno == EINTR))
      if (got > 0) bytes.insert(bytes.end(), part, part + got);
  }
  close(ends[0]);
  if (started != 0)
    throw FileError(path, "", "the program xz to unpack it", std::strerror(started), "install xz-utils");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw FileError::at_byte(path, bytes.size(), "a complete xz file",
                             "one that cannot be unpacked beyond this byte of its content", get_again);
  return bytes;
}

}  // namespace

PackedFile read_packed(const std::string& path, const std::string& get_again) {
  if (std::filesystem::exists(path)) return {path, read_bytes(path)};
  return {path + ".xz", unpack(path + ".xz", get_again)};
}

}  // namespace io

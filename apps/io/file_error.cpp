// SPDX-License-Identifier: Apache-2.0
#include "apps/io/file_error.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace io {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

FileError FileError::unwritten(const std::string& path, int reason) {
  return {path, "", "to write this file", std::strerror(reason),
          "check that the folder exists and has space"};
}

std::vector<char> read_bytes(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw FileError(path, "", "a file", "a directory", "name a file inside it");
  }
  // Some of them never end.
  if (std::filesystem::is_character_file(path, ignored) || std::filesystem::is_block_file(path, ignored))
    throw FileError(path, "", "a file or a pipe", "a device", "name a file");
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    throw FileError(path, "", "a readable file", std::strerror(errno), "check the path and its permissions");
  }
  std::vector<char> bytes;
  std::size_t used = 0;
  const auto announced = std::filesystem::file_size(path, ignored);
  bytes.resize(ignored ? 65536 : announced + 1);
  while (true) {
    used += std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
    if (used < bytes.size()) break;
    bytes.resize(bytes.size() * 2);
  }
  if (std::ferror(file.get()) != 0) {
    throw FileError::at_byte(path, used, "more data", std::strerror(errno), "check the disk");
  }
  if (used == 0) throw FileError(path, "", "data", "an empty file", "fetch or write it again");
  bytes.resize(used);
  return bytes;
}

void write_bytes(const std::string& path, const void* data, std::size_t size) {
  const std::string temporary = path + ".part" + std::to_string(::getpid());
  File file(std::fopen(temporary.c_str(), "wb"));
  if (!file) throw FileError::unwritten(path, errno);
  bool good = size == 0 || std::fwrite(data, 1, size, file.get()) == size;
  good = std::fflush(file.get()) == 0 && good;
  const int reason = errno;
  file.reset();
  if (!good || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = good ? errno : reason;
    std::remove(temporary.c_str());
    throw FileError::unwritten(path, why);
  }
}

void write_text(const std::string& path, const std::string& text) {
  write_bytes(path, text.data(), text.size());
}

}  // namespace io

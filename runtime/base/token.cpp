// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/token.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "runtime/base/constant_time.hpp"

namespace empi::agent {

TokenFile::TokenFile(std::string path) : path_(std::move(path)) {
  if (!reload())
    throw std::runtime_error("no bearer token in '" + path_ + "': expected it in the first line");
}

bool TokenFile::reload() {
  struct stat now{};
  if (stat(path_.c_str(), &now)) return !tokens_.empty();
  const bool same = now.st_ino == seen_.st_ino && now.st_size == seen_.st_size &&
                    now.st_mtim.tv_sec == seen_.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec;
  if (same) return !tokens_.empty();
  std::ifstream file(path_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.empty()) return !tokens_.empty();  // caught in the middle of being written: keep what we have
  seen_ = now;
  if (!tokens_.empty() && tokens_.front() != lines.front()) previous_ = tokens_.front();
  tokens_ = std::move(lines);
  return true;
}

std::string TokenFile::current() {
  std::lock_guard lock(mutex_);
  reload();
  return tokens_.front();
}

std::vector<std::string> TokenFile::lines() {
  std::lock_guard lock(mutex_);
  reload();
  std::vector<std::string> lines = tokens_;
  if (!previous_.empty() && std::ranges::find(lines, previous_) == lines.end()) lines.push_back(previous_);
  return lines;
}

bool TokenFile::accepts(std::string_view presented) {
  std::lock_guard lock(mutex_);
  reload();
  bool good = constant_time_equal(previous_, presented);
  for (const std::string& token : tokens_) good |= constant_time_equal(token, presented);
  return good;
}

bool TokenFile::accepts_header(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  return authorization.starts_with(kScheme) && accepts(authorization.substr(kScheme.size()));
}

}  // namespace empi::agent

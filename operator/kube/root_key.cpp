// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/root_key.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace emj::manager {
namespace {

constexpr std::size_t kShortestKey = 32;  // characters
constexpr std::chrono::seconds kReadAgain{5};

std::vector<std::string> keys_in(std::istream& file, const std::string& path) {
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    if (line.size() < kShortestKey)
      throw std::runtime_error(path + ": a root key has " + std::to_string(line.size()) +
                               " characters: expected at least 32, for example of `openssl rand -hex 32`");
    keys.push_back(line);
  }
  if (keys.empty())
    throw std::runtime_error(path +
                             ": no root key in it: the installation makes one, or write the output of " +
                             "`openssl rand -hex 32` there");
  return keys;
}

std::vector<std::string> read_keys(const std::string& path, const std::string& until_then = "") {
  std::ifstream file(path);
  if (file || until_then.empty()) return keys_in(file, path);
  std::istringstream text(until_then);
  return keys_in(text, "the Secret of " + path);
}

}  // namespace

RootKey::RootKey(std::string path, Clock clock, const std::string& until_then)
    : path_(std::move(path)),
      clock_(std::move(clock)),
      keys_(read_keys(path_, until_then)),
      read_(clock_()) {}

std::vector<std::string> RootKey::keys() {
  const std::lock_guard lock(mutex_);
  const auto now = clock_();
  if (now - read_ >= kReadAgain) {
    read_ = now;
    try {
      keys_ = read_keys(path_);
    } catch (const std::runtime_error&) {
      return keys_;  // being replaced just now, or broken: the keys that we have go on being right
    }
  }
  return keys_;
}

std::vector<std::string> RootKey::tokens(const std::string& job_uid) {
  std::vector<std::string> tokens;
  for (const std::string& key : keys()) tokens.push_back(hmac_sha256(key, job_uid));
  return tokens;
}

std::string RootKey::token_file(const std::string& job_uid) {
  std::string text;
  for (const std::string& token : tokens(job_uid)) text += token + "\n";
  return text;
}

std::string RootKey::version() {
  std::string all;
  for (const std::string& key : keys()) all += key + "\n";
  return hmac_sha256(all, "version").substr(0, 16);
}

std::string hmac_sha256(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &length))
    throw std::runtime_error("OpenSSL cannot compute an HMAC");
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 15];
  }
  return hex;
}

}  // namespace emj::manager

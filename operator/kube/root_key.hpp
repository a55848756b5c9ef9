// SPDX-License-Identifier: Apache-2.0
// The operator's root key and the job tokens made of it (decision K9): a job's token is
// HMAC-SHA256(root key, job UID), so that the operator needs to store no token and to read no Secret.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace emj::manager {

class RootKey {
 public:
  // A file with one key per line, the current one first; older ones stay valid for jobs that were started
  // with them. Throws std::runtime_error with the file's name when there is no key of at least 32 characters.
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // `until_then`: such keys, which are taken for as long as there is no file (a kubelet brings it late).
  explicit RootKey(std::string path, Clock clock = std::chrono::steady_clock::now,
                   const std::string& until_then = "");

  // For requests to the job's agents, the newest first: which one an agent has depends on when its pod's
  // kubelet has looked last.
  std::vector<std::string> tokens(const std::string& job_uid);
  // Content of the job's token Secret: the current token and those of older keys, a line each.
  std::string token_file(const std::string& job_uid);
  // Differs when the keys were replaced.
  std::string version();
  std::vector<std::string> keys();  // the newest first; read again every few seconds

 private:
  const std::string path_;
  const Clock clock_;
  std::mutex mutex_;
  std::vector<std::string> keys_;
  std::chrono::steady_clock::time_point read_;
};

// Lower-case hexadecimal.
std::string hmac_sha256(const std::string& key, const std::string& text);

}  // namespace emj::manager

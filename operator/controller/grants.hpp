// SPDX-License-Identifier: Apache-2.0
// What jobs in queues are told, by uid; passes over jobs read it, the scheduler writes it. Safe from several
// threads.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "operator/decide/decide.hpp"

namespace emj {

class Grants {
 public:
  std::optional<QueueGrant> of(const std::string& uid) const;
  bool tells_start(const std::string& uid) const;  // when it is expected
  void set(const std::string& uid, QueueGrant grant);
  void erase(const std::string& uid);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, QueueGrant> grants_;
};

}  // namespace emj

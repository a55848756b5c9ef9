// SPDX-License-Identifier: Apache-2.0
// Which agents of pods that are coming up answer already, asked by the threads that ask agents. A pass over
// the job waits a moment for that; else it goes by what is known, and is made again when one has answered.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "operator/agents/asking_crews.hpp"
#include "operator/controller/runtime.hpp"

namespace emj {

struct NewcomersOptions {
  Millis moment{20};      // that a pass waits, unless asking has cost time lately
  Millis slow{500};       // a round asks nobody else from then on
  int trusted_after = 3;  // rounds that have cost no time, one after the other
  // Has cost time: who has not answered for so long, or many answers that each took that.
  Millis costly{100};
};

// Safe from any thread, for one job by one at a time.
class Newcomers {
 public:
  using Answered = std::function<void(const JobKey&)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // `crews` may be made later than this, and ends before it.
  Newcomers(Runtime& runtime, AskingCrews& crews, Answered answered, NewcomersOptions options, Clock clock);

  // As Runtime::answering().
  std::set<std::string> answering(const ElasticMPIJob& job, const std::vector<PodView>& pods, bool urgent);
  void forget(const JobKey& job);

 private:
  struct Entry {
    bool in_hand = false;     // they are being asked, or wait for it
    bool waited_for = false;  // by a pass, for a moment
    int distrust = 0;         // rounds in time that are owed
    // Uids, while the pods live: of a node that has gone dark their kubelet says as little as they.
    std::set<std::string> answered;
  };

  void ask(const ElasticMPIJob& job, const std::vector<PodView>& pods, Entry& entry);

  Runtime& runtime_;
  AskingCrews& crews_;
  const Answered answered_;
  const NewcomersOptions options_;
  const Clock clock_;
  mutable std::mutex mutex_;
  std::map<JobKey, std::shared_ptr<Entry>> entries_;
  std::condition_variable moment_;
};

}  // namespace emj

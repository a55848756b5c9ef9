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
  Millis slow{500};       // from then on a round of questions has cost time
  int trusted_after = 3;  // rounds in time, one after the other
  Millis good{5000};      // as long an answer holds: a kubelet is a second behind
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
    std::map<std::string, std::chrono::steady_clock::time_point> answered;  // by uid
  };

  void ask(const ElasticMPIJob& job, const std::vector<PodView>& pods, Entry& entry);
  // With mutex_ held.
  std::set<std::string> known(const Entry& entry, const std::vector<PodView>& pods) const;

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

// SPDX-License-Identifier: Apache-2.0
// The threads that ask agents, and the lanes in which questions wait for them. An agent is the tenant's: what
// can take seconds waits for others that can, and the others do not wait for it. So each lane has a thread
// that serves no worse one.
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "operator/controller/cluster.hpp"

namespace emj {

enum class AskingLane {
  News,   // an event waits for it
  Looks,  // nobody does
  Slow,   // about jobs that have cost time
  Stops   // programs to be ended, of which many can hang at once
};

struct CrewSizes {
  int news = 2;   // urgent questions only
  int quick = 3;  // these first, then the others
  int slow = 2;   // what has cost time, then stops
  int stops = 1;
};

// Safe from any thread.
class AskingCrews {
 public:
  // Throws nothing.
  using Question = std::function<void()>;

  explicit AskingCrews(CrewSizes sizes);
  ~AskingCrews();  // waits for the questions that are being asked; those that wait are not

  void put(const JobKey& job, AskingLane lane, Question question);
  // An event has come while the job's questions waited behind others that nobody waits for.
  void hurry(const JobKey& job);

 private:
  struct Waiting {
    JobKey job;
    Question question;
  };
  // Threads, and the lanes that they serve, in this order.
  struct Crew {
    std::vector<AskingLane> lanes;
    std::condition_variable called{};
  };

  void work(Crew& crew);
  // With mutex_ held.
  Question next(const Crew& crew);
  void queue(Waiting waiting, AskingLane lane);
  std::deque<Waiting>& in(AskingLane lane) { return lanes_[static_cast<std::size_t>(lane)]; }

  std::mutex mutex_;
  bool stopping_ = false;
  std::array<std::deque<Waiting>, 4> lanes_;
  std::array<Crew, 4> crews_{{{{AskingLane::News}},
                              {{AskingLane::News, AskingLane::Looks}},
                              {{AskingLane::Slow, AskingLane::Stops}},
                              {{AskingLane::Stops}}}};
  std::vector<std::thread> threads_;
};

}  // namespace emj

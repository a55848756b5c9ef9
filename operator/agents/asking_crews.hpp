// SPDX-License-Identifier: Apache-2.0
// The threads that ask agents, and the lanes in which questions wait for them. An agent is the tenant's: what
// can take seconds waits for others that can, and the others do not wait for it. So News and Looks have
// threads that serve no worse lane; what is slow waits for programs that are to end, whose pods go meanwhile.
// But a job that is silent may go on yet, and does not wait for the ends of those that are.
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "operator/controller/cluster.hpp"

namespace emj {

enum class AskingLane {
  News,      // an event waits for it
  Looks,     // nobody does
  Slow,      // about jobs that have cost time
  Stops,     // programs to be ended, of which many can hang at once
  SlowStops  // of jobs that have cost time
};

struct CrewSizes {
  int news = 2;   // urgent questions only
  int quick = 3;  // these first, then the others
  int slow = 2;   // stops, then what has cost time, then stops that have
  int stops = 1;
};

// Safe from any thread.
class AskingCrews {
 public:
  // Throws nothing.
  using Question = std::function<void()>;

  explicit AskingCrews(CrewSizes sizes);
  ~AskingCrews();  // waits for the questions that are being asked; those that wait are not

  // Whether a thread is free for it: it does not wait behind others.
  bool put(const JobKey& job, AskingLane lane, Question question);
  // In lane Stops, or SlowStops if it `can_wait`. In each, those are first of whose namespace
  // fewest are being ended: one tenant may have many that hang.
  void put_stop(const JobKey& job, bool can_wait, Question question);
  // The job's next run waits for its stop: among those that wait for lane SlowStops it is the first.
  void hurry_stop(const JobKey& job);
  // An event has come while the job's questions waited behind others that nobody waits for.
  void hurry(const JobKey& job);

 private:
  struct Waiting {
    JobKey job;
    AskingLane lane;
    Question question;
  };
  // Threads, and the lanes that they serve, in this order.
  struct Crew {
    std::vector<AskingLane> lanes;
    std::condition_variable called{};
    int threads = 0, busy = 0;
  };

  void work(Crew& crew);
  // With mutex_ held.
  std::optional<Waiting> next(const Crew& crew);
  std::deque<Waiting>::iterator next_stop(AskingLane lane);
  void ended_stop(const JobKey& job);
  void queue(Waiting waiting);
  bool has_room(AskingLane lane) const;
  const std::deque<Waiting>& in(AskingLane lane) const { return lanes_[static_cast<std::size_t>(lane)]; }
  std::deque<Waiting>& in(AskingLane lane) { return lanes_[static_cast<std::size_t>(lane)]; }

  std::mutex mutex_;
  bool stopping_ = false;
  std::array<std::deque<Waiting>, 5> lanes_;
  std::map<std::string, int> being_ended_;  // programs, by namespace
  std::array<Crew, 4> crews_{{{{AskingLane::News}},
                              {{AskingLane::News, AskingLane::Looks}},
                              {{AskingLane::Stops, AskingLane::Slow, AskingLane::SlowStops}},
                              {{AskingLane::Stops, AskingLane::SlowStops}}}};
  std::vector<std::thread> threads_;
};

}  // namespace emj

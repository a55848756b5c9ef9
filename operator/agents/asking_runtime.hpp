// SPDX-License-Identifier: Apache-2.0
// A Runtime whose questions to agents are asked by a few threads of its own, not by those that look after
// jobs: an agent is the tenant's, and one that takes its time must not hold up another tenant's job. A pass
// over a job waits a moment for the answer, which is enough as a rule; else, and where no thread is free for
// a question that no event waits for, it ends, and is made again when the answer is there. A job whose agents
// did not answer is decided about as silent meanwhile, and waits for nothing. Agents of pods that come up are
// asked likewise (newcomers.hpp), but no pass ends for them.
//
// Jobs that have cost time lately are asked by threads apart, so that they wait for each other and not the
// others for them. Many that fall silent at once have not cost time yet: a question that an event waits for
// goes before those that come by the clock, and has threads that ask nothing else. Programs are ended by
// these threads, too, in a lane apart: many that hang can be deleted at once. One whose agent was too slow to
// be told is told a second time.
//
// The other commands are sent by the threads that look after jobs. Jobs whose last ones have cost time have a
// few of these between them, in turn (turns.hpp): a command to one of them is tried again later.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/agents/asking_crews.hpp"
#include "operator/agents/newcomers.hpp"
#include "operator/agents/turns.hpp"
#include "operator/controller/runtime.hpp"

namespace emj {

struct AskingOptions {
  CrewSizes crews{};
  int slow_commands = 2;               // at a time, to jobs whose last one has cost time
  Millis moment{20};                   // that a pass waits, unless the job has cost time lately
  Millis slow{500};                    // from then on an answer has cost time
  int trusted_after = 3;               // answers in time, one after the other
  std::function<bool()> urgent{};      // of the pass that calls prepared(): it is to answer an event
  std::function<void(Millis)> took{};  // how long an answer, or giving up, has taken; from any thread
};

// prepared() and what follows it, until the pass over the job ends, by one thread at a time per job.
class AskingRuntime : public Runtime {
 public:
  // An answer is there that the last pass did not have, or it is the job's turn: the pass over it is to be
  // made. From any thread.
  using Answered = std::function<void(const JobKey&)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // `runtime` is asked by one thread at a time per job, too, but for answering().
  AskingRuntime(Runtime& runtime, Answered answered, AskingOptions options = {},
                Clock clock = std::chrono::steady_clock::now);

  bool prepared(const ElasticMPIJob& job, const std::vector<PodView>& pods) override;
  void nothing_runs(const JobKey& key) override;
  RuntimeView observe(const ElasticMPIJob& job, const std::vector<PodView>& pods) override;
  std::set<std::string> answering(const ElasticMPIJob& job, const std::vector<PodView>& newcomers) override;
  std::vector<Sample> samples(const ElasticMPIJob& job) override;
  Outcome start(const ElasticMPIJob& job, const StartJob& start) override;
  Outcome name_lead(const ElasticMPIJob& job, const NameLead& lead) override;
  Outcome change(const ElasticMPIJob& job, const SendChange& change) override;
  Outcome cancel(const ElasticMPIJob& job, const CancelChange& cancel) override;
  Outcome give_notice(const ElasticMPIJob& job, const GiveNotice& notice) override;
  Outcome stop(const ElasticMPIJob& job, const StopJob& stop) override;
  void forget(const JobKey& key) override;

  // Before the end: waits until the programs that are to end have been told so.
  void finish_stops(Millis bound);

 private:
  struct Entry {
    bool in_hand = false;                // a question, or to stop, is waiting or under way
    bool stopping = false;               // and it is to stop
    bool waited_for = false;             // by a pass, for a moment
    bool turned_away = false;            // a pass was, by what is in hand
    bool outdated = false;               // the question in hand is about a program that has ended
    bool forgotten = false;              // the job itself is gone
    int distrust = 0;                    // answers in time that it owes
    int commands_owed = 0;               // in time, before it is trusted with them
    std::optional<RuntimeView> answer;   // that no pass has had yet
    std::optional<RuntimeView> silence;  // the last answer, if the lead gave none
    // To be sent after the question in hand.
    std::optional<std::pair<ElasticMPIJob, StopJob>> stop;
    bool told_again = false;         // to stop, since the first time took long and came to nothing
    bool next_run_waits = false;     // for that: it comes before others, and once
    std::optional<Outcome> stopped;  // how the last one came out
  };

  void look(const ElasticMPIJob& job, const std::vector<PodView>& pods);
  void send_stop(const ElasticMPIJob& job, const StopJob& stop);
  // With mutex_ held.
  // Whether the pass over the job is to be made.
  bool note(Entry& entry, RuntimeView view, bool cost_time);
  void put_stop(const ElasticMPIJob& job, Entry& entry, const StopJob& stop);
  bool has_cost_time(const Entry& entry) const { return entry.distrust > 0 || entry.commands_owed > 0; }
  // Nothing is in hand any more. Whether a pass waits for that.
  bool close(const JobKey& key, Entry& entry);
  // What cost time is made up for by some that did not.
  void judge(int& owed, bool cost_time) const;
  bool in_hand(const ElasticMPIJob& job) const;
  // By a connection that no question uses.
  Outcome command(const ElasticMPIJob& job, const std::function<Outcome()>& send);
  // By the connection of the job's questions.
  Outcome command_to_lead(const ElasticMPIJob& job, const std::function<Outcome()>& send) {
    return in_hand(job) ? busy() : command(job, send);
  }
  // With mutex_ free.
  void call_next();
  void leave_line(const JobKey& key);
  // Whether a program of the job is to be told to end: it is before others, and once.
  bool is_stopping(const JobKey& key);
  static Outcome busy();

  Runtime& runtime_;
  const Answered answered_;
  const AskingOptions options_;
  const Clock clock_;
  mutable std::mutex mutex_;
  std::map<JobKey, Entry> entries_;
  Turns turns_;  // of slow commands
  std::condition_variable moment_;
  Newcomers newcomers_;
  AskingCrews crews_;  // its threads use all of the above, and end first
};

}  // namespace emj

// SPDX-License-Identifier: Apache-2.0
// Simulated histories in bulk: how many in a second of one core, how many violate what must hold, and which
// cells of the table and which messages with which fate they have met. Arguments: histories (1000000), first
// seed (1); "loops" after them: of loops that go on without members that are lost, their lead (R20); "votes":
// and lose ranks while they vote on a change; "queues": of master-worker programs that lose their queue. It
// may be ended by SIGINT or SIGTERM: then it says what it has done, and the seed to go on with.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/agent/lead/testing/history.hpp"
#include "runtime/base/clocks.hpp"
#include "runtime/base/log.hpp"

namespace {

using namespace empi::agent::histories;

constexpr std::chrono::seconds kBetweenLines{30};
constexpr std::uint64_t kMostFailuresTold = 20;

volatile std::sig_atomic_t g_stop = 0;
void stop(int) { g_stop = 1; }

// Others on the machine do not count.
double processor_seconds() {
  return static_cast<double>(empi::profile::clock_ns(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9;
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

using Count = unsigned long long;
using History = std::vector<std::string> (*)(std::uint64_t seed, Coverage& coverage, bool tell_messages);

constexpr std::pair<std::string_view, History> kOfPrograms[] = {
    {"loops", run_recovery_history}, {"votes", run_vote_history}, {"queues", run_queue_history}};

struct Run {
  std::uint64_t first = 1, count = 1'000'000, done = 0, failed = 0;
  History history = run_history;
  Coverage all;
  std::uint64_t next() const { return first + done; }

  void one() {
    const std::vector<std::string> found = history(next(), all, false);
    if (!found.empty() && ++failed <= kMostFailuresTold)
      for (const std::string& what : count == 1 ? found : std::vector<std::string>{found.front()})
        std::fprintf(stderr, "seed %llu: %s\n", Count{next()}, what.c_str());
    ++done;
  }
  double rate() const { return static_cast<double>(done) / std::max(processor_seconds(), 1e-9); }
};

}  // namespace

int main(int argc, char** argv) {
  Run run;
  for (const auto& [name, history] : kOfPrograms)
    if (argc > 1 && std::string_view(argv[argc - 1]) == name) {
      run.history = history;
      --argc;
      break;
    }
  if (argc > 3 || (argc > 1 && !read_number(argv[1], run.count)) ||
      (argc > 2 && !read_number(argv[2], run.first))) {
    std::fprintf(stderr,
                 "usage: bench_histories [HISTORIES (1000000)] [FIRST_SEED (1)] [loops | votes | queues]\n");
    return 2;
  }
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  empi::log::to_stderr("histories", "%v", "off");
  using Clock = std::chrono::steady_clock;
  for (auto line_at = Clock::now() + kBetweenLines; run.done < run.count && !g_stop; run.one()) {
    if (Clock::now() < line_at) continue;
    line_at += kBetweenLines;
    std::fprintf(stderr, "%llu of %llu histories, %llu failed, %.0f in a second of one core\n",
                 Count{run.done}, Count{run.count}, Count{run.failed}, run.rate());
  }
  if (run.done < run.count)
    std::fprintf(stderr, "stopped: %llu histories are left, from seed %llu on\n", Count{run.count - run.done},
                 Count{run.next()});
  for (const std::string& line : describe(run.all)) std::fprintf(stderr, "%s\n", line.c_str());
  std::printf("bench histories.done %llu histories\n", Count{run.done});
  std::printf("bench histories.rate %.0f 1/s\n", run.rate());
  std::printf("bench histories.failed %llu histories\n", Count{run.failed});
  std::printf("bench histories.cells %.3f share\n", share_of_cells(run.all));
  std::printf("bench histories.digest %016llx hash\n", Count{run.all.digest});
  return run.failed == 0 ? 0 : 1;
}

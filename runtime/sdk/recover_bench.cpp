// SPDX-License-Identifier: Apache-2.0
// ./dev bench recover: what the loss of a rank or a pod costs a loop that goes on without it (decision R18):
// until it is known, then until the ranks that are left have a world and their data, without data and over a
// plain exchange of the same bytes; and what the copies cost while nothing is lost.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace {

using empi::Member;
using empi::testing::LocalPods;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr double kCadence = 60;  // s between copies, for the share of the run time

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

double seconds_of(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

void print(const std::string& figure, double value, const char* unit) {
  std::printf("bench recover.%s %.3f %s\n", figure.c_str(), value, unit);
  std::fflush(stdout);
}

struct Loss {
  double detected = 0, recovered = 0;  // s: from the kill until it is known, from then until all go on
};

class Job {
 public:
  Job(int pods, int slots, int megabytes) {
    char name[] = "/tmp/empi-bench-recover.XXXXXX";
    if (!mkdtemp(name)) throw std::runtime_error("cannot make a folder");
    folder_ = name;
    pods_.slots = slots;
    pods_.patience = std::chrono::seconds(180);
    pods_.command = {empi::testing::beside("bench_recover_program"), folder_.string(),
                     std::to_string(megabytes)};
    members_ = pods_.launch(pods);
    pods_.start(members_);
    pods_.wait_until("there are copies, and the first rank has measured",
                     [&] { return pods_.membership().survives_loss && !numbers("iterations").empty(); });
  }
  ~Job() { fs::remove_all(folder_); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Loss lose_rank() {
    const Member& last = members_.back();
    return lose(members_.size() - 1, [&] { kill(pods_.ranks(last.uid).back(), SIGKILL); });
  }
  // The lead has to find out; then a controller says at once that it counts.
  Loss lose_silent_pod() {
    const std::string last = members_.back().uid;
    return lose(members_.size() - 1, [&] {
      pods_.signal(last, SIGKILL);
      wait("the lead misses it", [&] { return !pods_.membership().silent.empty(); });
      pods_.say_lost({last});
    });
  }
  // A controller that sees its pod end names the next one at once.
  Loss lose_lead() {
    const std::string first = members_.front().uid;
    return lose(0, [&] {
      pods_.signal(first, SIGKILL);
      pods_.say_lost({first});
    });
  }

  void finish() {
    std::ofstream(folder_ / "stop") << "\n";
    for (const Member& m : members_)
      if (pods_.wait_for_end(m.uid) != 0)
        throw std::runtime_error("pod " + m.name + " failed\n" + pods_.all_logs());
  }

  // What ranks have said after `word`, all numbers of all of them.
  std::vector<double> numbers(const std::string& word) {
    std::vector<double> found;
    const std::string log = pods_.all_logs(), wanted = "] " + word + " ";
    for (auto at = log.find(wanted); at != log.npos; at = log.find(wanted, at + 1)) {
      const char* text = log.c_str() + at + wanted.size();
      for (char* end = nullptr; *text != '\n' && *text != '\0'; text = end) {
        const double number = std::strtod(text, &end);
        if (end == text) break;
        found.push_back(number);
      }
    }
    return found;
  }

 private:
  template <class Kill>
  Loss lose(std::size_t member, Kill&& kill_it) {
    // A loss soon after another one would find the same iteration.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const std::size_t said = numbers("on").size();
    const auto begin = Clock::now();
    kill_it();
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(member));
    wait("the loss is known",
         [&] { return pods_.membership().membership.members.size() == members_.size(); });
    const auto detected = Clock::now();
    wait("the others go on", [&] { return pods_.membership().recovering.empty(); });
    std::vector<double> on = numbers("on");
    const double last = *std::max_element(on.begin() + static_cast<std::ptrdiff_t>(said), on.end());
    return {seconds_of(detected - begin), 1e-9 * last - seconds_of(detected.time_since_epoch())};
  }
  // As LocalPods does, and a thousand times a second.
  template <class Done>
  void wait(const char* what, Done&& done) {
    const auto end = Clock::now() + pods_.patience;
    while (!done()) {
      if (Clock::now() > end)
        throw std::runtime_error(std::string("never happened: ") + what + "\n" + pods_.all_logs());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  fs::path folder_;
  LocalPods pods_;
  std::vector<Member> members_;
};

// The time from the death of the lead's pod until all others go on: to the named one's lead, and the
// recovery.
double without_lead(int pods, int losses) {
  Job job(pods, 1, 0);
  std::vector<double> whole;
  for (int i = 0; i < losses; ++i) {
    const Loss loss = job.lose_lead();
    std::fprintf(stderr, "  %d pods: another leads after %.3f s, on after %.3f s more\n", pods - i,
                 loss.detected, loss.recovered);
    whole.push_back(loss.detected + loss.recovered);
  }
  job.finish();
  return median(whole);
}

// Medians over the losses of one job after the other.
Loss without_data(int pods, int slots, int losses) {
  Job job(pods, slots, 0);
  std::vector<double> detected, recovered;
  for (int i = 0; i < losses; ++i) {
    const Loss loss = job.lose_rank();
    std::fprintf(stderr, "  %d pods with %d ranks: known after %.3f s, on after %.3f s\n", pods - i, slots,
                 loss.detected, loss.recovered);
    detected.push_back(loss.detected), recovered.push_back(loss.recovered);
  }
  job.finish();
  return {median(detected), median(recovered)};
}

void with_data(int megabytes, double without) {
  Job job(4, 1, megabytes);
  const double exchange = job.numbers("exchange").at(0);
  const std::vector<double> iterations = job.numbers("iterations"), memory = job.numbers("memory");
  const Loss loss = job.lose_rank();
  job.finish();
  std::fprintf(stderr, "  4 ranks with %d MiB: on after %.3f s, a plain exchange takes %.3f s\n", megabytes,
               loss.recovered, exchange);
  print("gb", (loss.recovered - without) / exchange, "ratio");
  print("overhead", std::max(0.0, iterations.at(0) - iterations.at(1)) / kCadence, "ratio");
  print("memory_ratio", 1 + *std::ranges::max_element(memory), "ratio");
}

}  // namespace

int main(int argc, char** argv) {
  const int megabytes = argc > 1 ? std::atoi(argv[1]) : 128;
  if (megabytes < 1 || argc > 2) {
    std::fprintf(stderr, "usage: bench_recover [MEGABYTES]: a rank, 1 or more (128)\n");
    return 2;
  }
  try {
    const Loss sixteen = without_data(16, 1, 5);
    print("detect.rank", 1000 * sixteen.detected, "ms");
    print("total.16", 1000 * sixteen.recovered, "ms");
    print("total.64", 1000 * without_data(16, 4, 3).recovered, "ms");
    Job job(3, 1, 0);
    print("detect.silent", job.lose_silent_pod().detected, "s");
    job.finish();
    print("total.lead", 1000 * without_lead(16, 3), "ms");
    with_data(megabytes, without_data(4, 1, 1).recovered);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench recover: %s\n", e.what());
    return 1;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Autoscaling policies: pure functions of measured windows. No clock, no input or output, so that the
// controller, `empi run` and the tests run the same code.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job.hpp"

namespace emj {

// Ended and waiting work of a master-worker phase, at the end of a window.
struct TaskFigures {
  std::int64_t phase = 0;
  std::int64_t total = 0;  // 0: no phase was running
  std::int64_t done = 0;
  std::int64_t queued = 0;     // not given out
  std::int64_t ended = 0;      // tasks that ended in the window,
  double seconds = 0;          // the sum of their durations
  double seconds2 = 0;         // and of the squares of these
  double longest_seconds = 0;  // since the start of the program
  double busy_share = 0;       // of the ranks' time that was spent in tasks

  bool operator==(const TaskFigures&) const = default;
};

// One measuring window of a whole job. Ratios are in [0, 1]; definitions of POP: with U_i the useful time
// of rank i, E the elapsed time and N ranks: parallel efficiency sum U/(E N) = load balance x
// communication efficiency; MTCT = time in MPI / useful time = 1/PE - 1.
struct Sample {
  Time start{};
  Time end{};
  std::int64_t epoch = 0;
  int ranks = 0;
  int workers = 0;
  double parallel_efficiency = 0;
  double load_balance = 0;
  double communication_efficiency = 0;
  double mtct = 0;
  std::int64_t iterations = 0;
  double mean_iteration_seconds = 0;
  double ci_halfwidth = 1;  // 95 % half-width of the mean iteration time over that mean: 1.96 s / sqrt(n) /
                            // mean; 1 when there were too few iterations to tell
  double work_units = 0;    // reported by the application over the window, 0 when it reports none
  double progress = -1;     // 0 to 1 as the application reports it, negative when unknown
  int wish_min = 0;         // workers that the program says it can use, at the end of the window;
  int wish_max = 0;         // 0: it has not said
  TaskFigures tasks;

  bool operator==(const Sample&) const = default;
};

// What the run is to keep to (spec.scheduling), and what of it is used up.
struct Goals {
  std::optional<Time> deadline;
  std::optional<double> budget;
  double spent = 0;
  double per_worker_hour = 1;  // price of one

  bool operator==(const Goals&) const = default;
};

struct PolicyInput {
  std::vector<Sample> windows;  // oldest first; all that are known, the guards select
  std::vector<Sample> steady;   // all windows of the present size and phase that count; set by autoscale()
  int current = 0;              // workers of the committed epoch
  int min = 1;
  int max = 1;
  int slots = 1;  // ranks per worker
  Step step;
  std::vector<int> allowed;         // ascending; empty: all
  std::vector<SizeChange> history;  // oldest first; the start of the job counts as a change 0 -> n
  Time now{};
  Goals goals;
};

// A policy that predicts says what a change would bring; then it has judged the expected gain itself.
struct Prediction {
  std::optional<double> measured_seconds;   // of an iteration, at the present size
  std::optional<double> predicted_seconds;  // at the wanted one
  double loss = 1;            // share of the time that is lost while the wanted size is not there
  double regret_seconds = 0;  // so much must be lost before the change is made (ski rental); 0: at once
  Seconds cooldown{0};        // at least so long after the last change
  bool lasting = false;       // what speaks for it cannot turn round again: no lock-out of reversals
};

// Whether a goal can be kept to, by any size that the job may have.
struct Outlook {
  bool at_risk = false;
  Time finish{};      // of policy deadline: at the wanted size, at risk of the fastest one
  double price = 0;   // of policy budget: of the whole run, likewise
  std::string words;  // why it is at risk

  bool operator==(const Outlook&) const = default;
};

// What a policy wants, in words with the numbers it used.
struct Proposal {
  int wanted = 0;
  std::string reason;
  bool insufficient_data = false;
  bool rebalance = false;  // stay, though the size is not what is wrong: the work is shared out unevenly
  std::optional<Prediction> prediction = {};
  std::optional<Outlook> outlook = {};  // of policies with a goal
};

// What a policy measures by.
enum class Evidence {
  Clock,       // nothing: the data gate, the stabilisation windows and the expected gain do not apply
  Iterations,  // of the present size
  Tasks        // of the running phase of a master-worker program
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual const char* name() const = 0;
  virtual Evidence evidence() const = 0;
  // `input.windows` holds only windows of the current size that the data gate let through, at most
  // spec.autoscaling.windows of them. Proposals need not respect the limits; the caller clamps.
  virtual Proposal propose(const PolicyInput& input, PolicyState& state) const = 0;
  // What the windows tell although iteration times are not known well enough for propose(): they hold at
  // least one whole iteration of the current size. Nothing by default.
  virtual std::optional<Proposal> propose_early(const PolicyInput&, const std::vector<Sample>& /*whole*/,
                                                const PolicyState&) const {
    return std::nullopt;
  }
};

// `goes_by`: what deadline and budget find out the time left from.
std::unique_ptr<Policy> make_policy(const AutoscalingSpec& spec, Evidence goes_by = Evidence::Iterations);

enum class Verdict {
  Scale,      // Auto: write this size
  Recommend,  // mode Recommend: publish it only
  Keep,       // the policy wants the current size
  Wait        // data missing, or a guard (cool-down, stabilisation, gain, lock-out) says not yet
};

struct AutoscaleResult {
  Verdict verdict = Verdict::Keep;
  int wanted = 0;                                             // within limits and allowed sizes
  std::string line;                                           // one line of words with its numbers
  DecisionCause cause = DecisionCause::BestSize;              // the line in one word
  bool rebalance = false;                                     // Keep, but the work should be shared out anew
  std::optional<double> measured_seconds, predicted_seconds;  // of an iteration now, and at `wanted`
  std::optional<Outlook> outlook = {};                        // where a goal was judged
  std::optional<Time> look_again;  // earliest time at which the verdict can change without new samples
};

// A policy with everything that stands around it: the data gate, clamping, stabilisation, cool-down,
// reversal lock-out, expected gain, modes. Mode Off and policy Manual always Keep.
AutoscaleResult autoscale(const AutoscalingSpec& spec, const PolicyInput& input, PolicyState& state);

}  // namespace emj

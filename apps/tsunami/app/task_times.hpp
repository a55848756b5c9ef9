// SPDX-License-Identifier: Apache-2.0
// Where the time of a run goes, by the tasks of table 5.3 of the thesis.
#pragma once
#include <mpi.h>

#include <array>
#include <chrono>
#include <string_view>

namespace tsunami {

enum class Task { Refinement, Conformity, Balance, Step, Adaptation, Others };
inline constexpr std::array<std::string_view, 6> kTaskNames = {"grid refinement",     "grid conformity check",
                                                               "load balancing",      "time step computation",
                                                               "resource adaptation", "others"};
using TaskTimes = std::array<double, kTaskNames.size()>;  // s, by Task

// Of this rank: each moment counts for the task that ends with the next lap().
class TaskClock {
 public:
  void lap(Task task) {
    const auto now = std::chrono::steady_clock::now();
    of(task) += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  // What was counted for a task was another's.
  void was(Task other, Task task, double seconds) { of(task) -= seconds, of(other) += seconds; }
  // Adds the mean over all ranks of what was counted since the last time. Collective.
  void add_to(TaskTimes& all, MPI_Comm world);

 private:
  double& of(Task task) { return times_[static_cast<std::size_t>(task)]; }

  TaskTimes times_{};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace tsunami

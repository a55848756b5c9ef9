// SPDX-License-Identifier: Apache-2.0
// The one home of every metric's name, type, unit and help text (Prometheus). Definitions of the
// efficiencies: runtime/protocol/sample.hpp.
//
// Every series has the labels job, namespace and pod. Gauges also carry `epoch`, the version of the
// membership they were measured in; counters go on over a change and do not, or rate() would break at every
// commit. Ratios have `scope`: "pod" over the ranks of this pod, "job" over all pods (from the lead's pod
// only).
#pragma once
#include <array>
#include <string_view>

#include "runtime/base/exposition.hpp"

namespace empi::metrics {

// --- ranks of this pod ---
inline constexpr Metric kRanks{"empi_ranks", Type::Gauge, "", "MPI ranks measured in the last window."};
inline constexpr Metric kEpoch{"empi_epoch", Type::Gauge, "",
                               "Version of the job's membership, one more with every committed change."};
inline constexpr Metric kIterations{"empi_iterations_total", Type::Counter, "",
                                    "Iterations, of the rank with most in each window."};
inline constexpr Metric kIterationDuration{"empi_iteration_duration_seconds", Type::Histogram, "seconds",
                                           "Durations of these iterations."};
inline constexpr Metric kMpiSeconds{"empi_mpi_seconds_total", Type::Counter, "seconds",
                                    "Time in MPI calls, summed over ranks."};
inline constexpr Metric kMpiCollectiveSeconds{"empi_mpi_collective_seconds_total", Type::Counter, "seconds",
                                              "Part of the time in MPI spent in collective calls."};
inline constexpr Metric kUsefulSeconds{
    "empi_useful_seconds_total", Type::Counter, "seconds",
    "Time outside MPI and outside changes of the membership, summed over ranks."};
inline constexpr Metric kEmulatedSeconds{
    "empi_emulated_seconds_total", Type::Counter, "seconds",
    "Part of the useful time that was slept to emulate slower processors."};
inline constexpr Metric kMpiCalls{"empi_mpi_calls_total", Type::Counter, "", "MPI calls, summed over ranks."};
inline constexpr Metric kMpiBytes{"empi_mpi_bytes_total", Type::Counter, "bytes",
                                  "Payload handed to MPI for sending, summed over ranks."};
inline constexpr Metric kCoreSeconds{"empi_core_seconds_total", Type::Counter, "seconds",
                                     "Time of this pod's slots (one core each): useful, mpi, resize, or idle "
                                     "when no rank was measured on it."};
inline constexpr Metric kWorkUnits{"empi_work_units_total", Type::Counter, "",
                                   "Work reported by the application, in its own unit, summed over ranks."};
inline constexpr Metric kProgress{"empi_progress_ratio", Type::Gauge, "ratio",
                                  "Progress reported by the application, 0 to 1."};

// --- master-worker programs: as they say themselves; absent in others ---
inline constexpr Metric kTasks{"empi_tasks", Type::Gauge, "",
                               "Tasks of the phase that is running by state: done, running (given out) or "
                               "queued; from the pod of the rank that keeps the queue."};
inline constexpr Metric kTaskPhase{"empi_task_phase", Type::Gauge, "",
                                   "Number of the phase that is running, from 1; from the same pod."};
inline constexpr Metric kTaskDuration{"empi_task_duration_seconds", Type::Summary, "seconds",
                                      "Durations of the tasks that ranks of this pod have computed."};
inline constexpr Metric kTaskIdleSeconds{"empi_task_idle_seconds_total", Type::Counter, "seconds",
                                         "Time outside of tasks and of changes while a phase was running, "
                                         "over the whole job, from the lead's pod only."};
inline constexpr Metric kTaskMean{"empi_task_mean_seconds", Type::Gauge, "seconds",
                                  "Mean duration of the tasks that ended in the last window."};
inline constexpr Metric kTaskDeviation{"empi_task_deviation_seconds", Type::Gauge, "seconds",
                                       "Standard deviation of these durations."};
inline constexpr Metric kTaskIdle{"empi_task_idle_ratio", Type::Gauge, "ratio",
                                  "Share of the last window that ranks spent outside of tasks."};

inline constexpr Metric kParkedHelperSeconds{
    "empi_parked_helper_cpu_seconds_total", Type::Counter, "seconds",
    "Processor time of helper threads of this pod's ranks that never came "
    "back from a change that was rolled back: they poll inside MPI."};

// --- efficiencies of the last window, label scope ---
inline constexpr Metric kParallelEfficiency{
    "empi_parallel_efficiency_ratio", Type::Gauge, "ratio",
    "Useful time over measured time (POP): load balance times communication efficiency."};
inline constexpr Metric kLoadBalance{"empi_load_balance_ratio", Type::Gauge, "ratio",
                                     "Mean over maximum of the useful time of a rank (POP)."};
inline constexpr Metric kLoadBalanceIn{"empi_load_balance_in_ratio", Type::Gauge, "ratio",
                                       "Load balance within pods (TALP)."};
inline constexpr Metric kLoadBalanceOut{"empi_load_balance_out_ratio", Type::Gauge, "ratio",
                                        "Load balance between pods (TALP)."};
inline constexpr Metric kCommunicationEfficiency{"empi_communication_efficiency_ratio", Type::Gauge, "ratio",
                                                 "Useful time of the busiest rank over elapsed time (POP)."};
inline constexpr Metric kMtct{"empi_mtct_ratio", Type::Gauge, "ratio",
                              "Time in MPI over time outside it: 1 / parallel efficiency - 1."};
inline constexpr Metric kMtctTrend{"empi_mtct_trend_ratio", Type::Gauge, "ratio",
                                   "Change of that ratio per second: Theil-Sen slope over the last windows."};

// --- from the lead's pod only, over the whole job ---
inline constexpr Metric kNodes{"empi_nodes", Type::Gauge, "", "Worker pods of the job."};
inline constexpr Metric kParkedHelpers{"empi_parked_helpers", Type::Gauge, "",
                                       "Helper threads that never came back from a change that was rolled "
                                       "back; at three in a rank it refuses changes."};
// Waiting is told from transferring by decision R9 (wait = largest useful time - own), which does not tell
// where it happened: `kind` shares it out in proportion to the time in collective and in all other MPI calls
// of the window.
inline constexpr Metric kMpiWaitSeconds{"empi_mpi_wait_seconds_total", Type::Counter, "seconds",
                                        "Part of the time in MPI spent waiting for the busiest rank, over "
                                        "the whole job; kind (collective, p2p) in "
                                        "proportion to the time in such calls."};
inline constexpr Metric kMpiTransferSeconds{"empi_mpi_transfer_seconds_total", Type::Counter, "seconds",
                                            "The rest of the time in MPI, over the whole job."};
inline constexpr Metric kReconfigurations{
    "empi_reconfigurations_total", Type::Counter, "",
    "Changes of the membership that have ended: type grow, shrink or mixed, "
    "reason autoscaling, manual, drain or unknown."};
// Values of the label `reason` there: who wanted the change. The controller says it with the change.
inline constexpr std::array<std::string_view, 3> kCauses = {"autoscaling", "manual", "drain"};
inline constexpr Metric kReconfigurationPhase{"empi_reconfiguration_phase_seconds", Type::Summary, "seconds",
                                              "How long the steps of committed changes took."};

// --- per rank, only on request ---
inline constexpr Metric kRankUsefulSeconds{"empi_rank_useful_seconds_total", Type::Counter, "seconds",
                                           "Useful time of one rank, labelled by its PMIx name."};
inline constexpr Metric kRankMpiSeconds{"empi_rank_mpi_seconds_total", Type::Counter, "seconds",
                                        "Time in MPI of one rank, labelled by its PMIx name."};
inline constexpr Metric kRankIterations{"empi_rank_iterations_total", Type::Counter, "",
                                        "Iterations of one rank, labelled by its PMIx name."};

}  // namespace empi::metrics

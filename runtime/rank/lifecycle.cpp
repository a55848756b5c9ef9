// SPDX-License-Identifier: Apache-2.0
// Beginning and end of MPI, and the calls of elastic_mpi.h.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "elastic_mpi.h"
#include "runtime/base/no_devices.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/waiting.hpp"

#define EMPI_EXPORT __attribute__((visibility("default")))

using empi::rank::rank;

namespace {

// As agents have it. Other layers of Open MPI choose the device that is nearest, and it may choose them by
// itself.
bool goes_by_tcp() {
  const char* layer = std::getenv("OMPI_MCA_pml");
  return layer && std::strcmp(layer, "ob1") == 0;
}

// `initialise` is MPI's call.
template <class Initialise>
int begin(Initialise initialise) {
  const int result = [&] {
    const empi::NoDevices are_asked_for(empi::NoDevices::Plugins::AsEver, goes_by_tcp());
    return initialise();
  }();
  if (result != MPI_SUCCESS) return result;
  empi::rank::wait_asleep();
  rank().start_profile();
  return result;
}

}  // namespace

extern "C" {

EMPI_EXPORT int MPI_Init(int* argc, char*** argv) {
  return begin([&] { return PMPI_Init(argc, argv); });
}

EMPI_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return begin([&] { return PMPI_Init_thread(argc, argv, required, provided); });
}

EMPI_EXPORT int MPI_Initialized(int* flag) { return PMPI_Initialized(flag); }

EMPI_EXPORT int MPI_Finalized(int* flag) {
  if (!rank().finalized()) return PMPI_Finalized(flag);
  *flag = 1;
  return MPI_SUCCESS;
}

// A class added by MPI_Add_error_class is an error code of that class (quirk error-class).
EMPI_EXPORT int MPI_Error_class(int code, int* error_class) {
  if (code != MPIX_ERR_ADAPT_ROLLED_BACK) return PMPI_Error_class(code, error_class);
  *error_class = code;
  return MPI_SUCCESS;
}

EMPI_EXPORT int MPI_Finalize(void) {
  if (rank().malleable()) return rank().finalize();
  return rank().finalize_rigid();
}

EMPI_EXPORT int MPI_Init_adapt(int* argc, char*** argv, int* proc_status) {
  int provided = MPI_THREAD_SINGLE;
  const int result = begin([&] { return PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided); });
  if (result != MPI_SUCCESS) return result;
  if (provided < MPI_THREAD_MULTIPLE) {
    std::fprintf(
        stderr,
        "elastic-mpi: this MPI library does not offer MPI_THREAD_MULTIPLE, so the job cannot adapt\n");
  } else {
    try {
      rank().become_malleable();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "elastic-mpi: cannot become malleable: %s\n", error.what());
      PMPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (proc_status) *proc_status = rank().joining() ? MPI_ADAPT_STATUS_JOINING : MPI_ADAPT_STATUS_NEW;
  return MPI_SUCCESS;
}

EMPI_EXPORT int MPI_Probe_adapt(int* adapt_flag, int* proc_status, MPI_Info* info) {
  return rank().probe(adapt_flag, proc_status, info);
}

EMPI_EXPORT int MPIX_Probe_adapt_aligned(void) { return rank().probes_are_aligned(); }

EMPI_EXPORT int MPI_Comm_adapt_begin(MPI_Comm* intercomm, MPI_Comm* new_comm_world, int* staying_count,
                                     int* leaving_count, int* joining_count) {
  return rank().begin(intercomm, new_comm_world, staying_count, leaving_count, joining_count);
}

EMPI_EXPORT int MPI_Comm_adapt_commit(void) { return rank().commit(); }

EMPI_EXPORT int MPIX_Comm_adapt_union(MPI_Comm* union_comm) { return rank().union_comm(union_comm); }

EMPI_EXPORT int MPIX_Comm_adapt_abort(void) { return rank().abort_change(); }

EMPI_EXPORT int MPIX_Comm_adapt_moved(double milliseconds, long long bytes) {
  return rank().report_redistribution(milliseconds, bytes);
}

EMPI_EXPORT int MPIX_Progress_adapt(double work_units, double progress) {
  return rank().progress(work_units, progress);
}

EMPI_EXPORT int MPIX_Checkpoint_adapt(long long number, long long iteration, long long bytes, double seconds,
                                      const char* error) {
  return rank().checkpointed({.number = number,
                              .iteration = iteration,
                              .bytes = bytes,
                              .seconds = seconds,
                              .trouble = error ? error : ""});
}

EMPI_EXPORT int MPIX_Checkpoint_restored_adapt(long long iteration, const char* path) {
  return rank().checkpointed({.restored = path ? path : "", .restored_iteration = iteration});
}

EMPI_EXPORT int MPIX_Wish_adapt(int min_workers, int max_workers) {
  return rank().wish(min_workers, max_workers);
}

EMPI_EXPORT int MPIX_Tasks_declare(MPIX_Tasks_order on_order, void* self) {
  return rank().declare_tasks(on_order, self);
}

EMPI_EXPORT int MPIX_Tasks_queue_at(const char* address) { return rank().queue_at(address); }

EMPI_EXPORT int MPIX_Tasks_queue_mirrored(const char* id) { return rank().queue_mirrored(id); }

EMPI_EXPORT int MPIX_Tasks_attached(const char* error) { return rank().attached(error); }

EMPI_EXPORT int MPIX_Tasks_build_world(const char* name, const char* ids) {
  return rank().build_tasks_world(name, ids);
}

EMPI_EXPORT int MPIX_Tasks_adopt_world(const char* name) { return rank().adopt_tasks_world(name); }

EMPI_EXPORT int MPIX_Tasks_left(void) { return rank().tasks_left(); }

EMPI_EXPORT int MPIX_Tasks_changed(void) { return rank().tasks_changed(); }

EMPI_EXPORT int MPIX_Tasks_spent_on_changes(long long nanoseconds) {
  return rank().spent_on_changes(nanoseconds);
}

EMPI_EXPORT int MPIX_Recovery_watch(MPIX_Recovery_stop stop) { return rank().watch_losses(stop); }

EMPI_EXPORT int MPIX_Recovery_ready(void) { return rank().losses_can_be_borne(); }

EMPI_EXPORT int MPIX_Recovery_world(MPI_Comm* world) { return rank().recovery_world(world); }

EMPI_EXPORT int MPIX_Recovery_repeats(long long iterations) { return rank().recovery_repeats(iterations); }

EMPI_EXPORT int MPIX_Recovery_adopt(long long iteration) { return rank().adopt_recovered(iteration); }

EMPI_EXPORT int MPIX_Recovery_idle(double seconds) { return rank().idle(seconds); }

EMPI_EXPORT void MPIX_Recovery_failed(const char* error) { rank().recovery_failed(error); }

EMPI_EXPORT int MPIX_Task_queue_adapt(long long phase, long long total, long long done, long long queued) {
  return rank().task_queue(phase, total, done, queued);
}

EMPI_EXPORT int MPIX_Task_begin_adapt(void) { return rank().begin_task(); }

EMPI_EXPORT int MPIX_Task_end_adapt(void) { return rank().end_task(); }

}  // extern "C"

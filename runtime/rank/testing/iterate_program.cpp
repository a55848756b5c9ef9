// SPDX-License-Identifier: Apache-2.0
// The application of the change benchmarks: iterates until the job is stopped, and holds no data, so that a
// change costs what the runtime itself costs.
// Usage: bench_iterate CPU_MICROSECONDS   (of computing per iteration; two small allreduces follow)
#include <elastic_mpi.h>

#include <cstdlib>
#include <ctime>

namespace {

double thread_cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

void compute(double cpu_us) {
  volatile double x = 1;
  for (const double end = thread_cpu_us() + cpu_us; thread_cpu_us() < end;)
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
}

// False when a rollback dismissed the change: the old world goes on.
bool adapt_window() {
  MPI_Comm inter = MPI_COMM_NULL, next = MPI_COMM_NULL;
  int staying = 0, leaving = 0, joining = 0;
  MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining);
  return MPI_Comm_adapt_commit() == MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const double cpu_us = argc > 1 ? std::atof(argv[1]) : 0;
  int status = MPI_ADAPT_STATUS_NEW;
  MPI_Init_adapt(&argc, &argv, &status);
  if (status == MPI_ADAPT_STATUS_JOINING && !adapt_window()) return 1;
  for (;;) {
    int adapt = MPI_ADAPT_FALSE;
    MPI_Probe_adapt(&adapt, &status, nullptr);
    if (adapt == MPI_ADAPT_TRUE && adapt_window() && status == MPI_ADAPT_STATUS_LEAVING) break;
    if (cpu_us > 0) compute(cpu_us);
    double mine = 1, sum = 0;
    for (int i = 0; i < 2; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

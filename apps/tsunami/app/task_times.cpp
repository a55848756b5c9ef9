// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/task_times.hpp"

#include <cstddef>

#include "apps/mesh/mpi_check.hpp"

namespace tsunami {

void TaskClock::add_to(TaskTimes& all, MPI_Comm world) {
  int ranks = 1;
  MPI_Comm_size(world, &ranks);
  elastic::check_mpi(
      MPI_Allreduce(MPI_IN_PLACE, times_.data(), static_cast<int>(times_.size()), MPI_DOUBLE, MPI_SUM, world),
      "adding up where the time goes");
  for (std::size_t task = 0; task < all.size(); ++task) all[task] += times_[task] / ranks;
  times_ = {};
}

}  // namespace tsunami

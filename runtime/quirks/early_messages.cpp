// SPDX-License-Identifier: Apache-2.0
// Quirk early-messages: what other ranks send for a communicator of MPI_Comm_create_from_group is not
// delivered when it is read before this rank has it. They make it at once, rank 0 lets MPI progress first.
// `ours`: rank 0 reads nothing until it has it.
#include <pmix.h>

#include <cstdlib>
#include <cstring>

#include "runtime/quirks/quirk.hpp"

// In place of PMIx's groups, which would have the one rank wait for the other.
pmix_status_t PMIx_Group_construct(const char[], const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                                   pmix_info_t** results, size_t* result_count) {
  *results = static_cast<pmix_info_t*>(std::calloc(1, sizeof(pmix_info_t)));
  *result_count = 1;
  std::strncpy((*results)->key, PMIX_GROUP_CONTEXT_ID, PMIX_MAX_KEYLEN);
  (*results)->value.type = PMIX_SIZE;
  (*results)->value.data.size = 4711;
  return PMIX_SUCCESS;
}
pmix_status_t PMIx_Group_destruct(const char[], const pmix_info_t[], size_t) { return PMIX_SUCCESS; }

int main(int argc, char** argv) {
  quirk::begin(&argc, &argv);
  const bool ours = argc > 1 && std::strcmp(argv[1], "ours") == 0;
  const int rank = quirk::rank_of(MPI_COMM_WORLD);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && ours) usleep(300000);  // as it waits for the others' word
  if (rank == 0 && !ours) quirk::progress_until(1, [] { return false; });
  MPI_Comm made = MPI_COMM_NULL;
  const quirk::Helper helper(
      [&] { return MPI_Comm_create_from_group(all, "early", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made); });
  // With the quirk it never comes back; without, as soon as the machine lets all of them.
  for (int i = 0; i < (ours ? 1500 : 100) && !helper.back(); ++i) usleep(10000);
  if (rank == 0 && !ours) quirk::say(!helper.back());
  if (rank == 0 && ours && helper.result() == MPI_SUCCESS) quirk::say_ours_holds();
  quirk::progress_until(.2, [] { return false; });
  quirk::leave();
}

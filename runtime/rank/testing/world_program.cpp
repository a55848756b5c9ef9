// SPDX-License-Identifier: Apache-2.0
// Without an agent nothing may differ from plain MPI: MPI_COMM_WORLD, its attributes, its error handling, and
// the four calls of elastic_mpi.h never adapt.
#include <elastic_mpi.h>

#include <initializer_list>

#include "runtime/rank/testing/check.hpp"

namespace {

int deleted = 0;
int delete_counting(MPI_Comm, int, void*, void*) { return ++deleted, MPI_SUCCESS; }

int handled = 0;
void count_errors(MPI_Comm*, int* code, ...) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(*code, &error_class);
  if (error_class == MPI_ERR_COMM) ++handled;
}

void check_handles(int size) {
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  int result = MPI_UNEQUAL;
  MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_IDENT);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(dup)) == dup);
  MPI_Group of_world = MPI_GROUP_NULL, of_dup = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &of_world);
  MPI_Comm_group(dup, &of_dup);
  MPI_Group_compare(of_world, of_dup, &result);
  CHECK(result == MPI_IDENT);
  int group_size = 0;
  MPI_Group_size(of_world, &group_size);
  CHECK(group_size == size);
  MPI_Group_free(&of_world);
  MPI_Group_free(&of_dup);
  MPI_Comm_free(&dup);
  CHECK(dup == MPI_COMM_NULL);
}

void check_attributes(int size) {
  int* value = nullptr;
  int found = 0;
  for (const int keyval : {MPI_TAG_UB, MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_LASTUSEDCODE}) {
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, static_cast<void*>(&value), &found);
    int *plain = nullptr, plain_found = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, keyval, static_cast<void*>(&plain), &plain_found);
    CHECK(found == plain_found && (!found || value == plain));
  }
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, static_cast<void*>(&value), &found);
  CHECK(!found || *value >= size);
  int keyval = MPI_KEYVAL_INVALID, data = 7;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_counting, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &data);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, static_cast<void*>(&value), &found);
  CHECK(found && value == &data);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  CHECK(deleted == 1);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, static_cast<void*>(&value), &found);
  CHECK(!found);
  MPI_Comm_free_keyval(&keyval);
}

void check_that_the_world_cannot_be_freed() {
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_errors, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
  MPI_Comm world = MPI_COMM_WORLD;
  CHECK(MPI_Comm_free(&world) == MPI_ERR_COMM);
  CHECK(MPI_Comm_disconnect(&world) == MPI_ERR_COMM);
  CHECK(handled == 2 && world == MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&counting);
}

void check_that_nothing_adapts(int size) {
  int adapt = -1, status = -1;
  MPI_Info info = nullptr;
  for (int i = 0; i < 100; ++i) {
    MPI_Probe_adapt(&adapt, &status, &info);
    CHECK(adapt == MPI_ADAPT_FALSE && status == MPI_ADAPT_STATUS_STAYING && info == MPI_INFO_NULL);
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size);
  }
  MPI_Comm inter, next;
  int staying, leaving, joining;
  CHECK(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining) != MPI_SUCCESS);
  CHECK(MPI_Comm_adapt_commit() != MPI_SUCCESS);
  CHECK(MPIX_Comm_adapt_union(&next) != MPI_SUCCESS);
  CHECK(MPIX_Progress_adapt(10, .5) == MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  int status = -1, size = 0;
  CHECK(MPI_Init_adapt(&argc, &argv, &status) == MPI_SUCCESS && status == MPI_ADAPT_STATUS_NEW);
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_handles(size);
  check_attributes(size);
  check_that_the_world_cannot_be_freed();
  check_that_nothing_adapts(size);
  CHECK(MPI_Finalize() == MPI_SUCCESS);
  int finalized = 0;
  MPI_Finalized(&finalized);
  CHECK(finalized);
}

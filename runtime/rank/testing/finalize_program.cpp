// SPDX-License-Identifier: Apache-2.0
// What MPI_Finalize owes the program: delete callbacks of MPI_COMM_SELF in reverse order before anything
// else, MPI_Finalized true, exit handlers and destructors run, the exit status is the program's. Prints one
// line per event.
#include <elastic_mpi.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/rank/testing/check.hpp"

namespace {

int announce_deletion(MPI_Comm, int, void* value, void*) {
  int finalized = 1;
  MPI_Finalized(&finalized);
  std::printf("deleted %s%s\n", static_cast<const char*>(value), finalized ? " too late" : "");
  return MPI_SUCCESS;
}

struct AnnouncesItsEnd {
  ~AnnouncesItsEnd() { std::puts("destructor"); }
} announces_its_end;

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  MPI_Init_adapt(&argc, &argv, &status);
  std::atexit([] { std::puts("atexit"); });
  static char first[] = "first", second[] = "second", third[] = "third";
  int keyvals[3] = {MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID, MPI_KEYVAL_INVALID};
  for (int& keyval : keyvals)
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, announce_deletion, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[0], first);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[1], second);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[2], third);
  MPI_Comm_delete_attr(MPI_COMM_SELF, keyvals[1]);
  int initialized = 0, finalized = 1;
  MPI_Finalized(&finalized);
  CHECK(!finalized);
  std::puts("finalizing");
  CHECK(MPI_Finalize() == MPI_SUCCESS);
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  std::printf("initialized %d finalized %d\n", initialized, finalized);
  return 3;
}

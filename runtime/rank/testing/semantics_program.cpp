// SPDX-License-Identifier: Apache-2.0
// What MPI_COMM_WORLD means across changes (decision R4), checked in every iteration. Ends when STOP_FILE
// exists.
//
//   semantics_program STOP_FILE KEEP_FILE
//
// While KEEP_FILE exists, old ranks keep something of the old world alive in the window, and the change must
// then roll back and name it. Which, the file says: "duplicate" (only where somebody leaves), "persistent" or
// "pending" (a request of the world).
#include <elastic_mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/rank/testing/check.hpp"

namespace {

int copies = 0, deletions = 0, handled = 0;

int copy_value(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  CHECK(extra == &copies);
  ++copies;
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_value(MPI_Comm, int, void*, void*) { return ++deletions, MPI_SUCCESS; }
void count_error(MPI_Comm*, int*, ...) { ++handled; }

// Messages around the world by requests, ended in each of the ways there are: none may seem to be left.
void exchange(int turn) {
  int rank = 0, size = 0, index = 0, done = 0, number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::array<int, 2> in{}, indices{};
  const std::array<int, 2> out{rank, rank};
  std::array<MPI_Request, 4> requests;
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    MPI_Irecv(&in[at], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[at]);
    MPI_Isend(&out[at], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[2 + at]);
  }
  switch (turn % 7) {
    case 0:
      MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (int i = 0; i < 4; ++i) MPI_Waitany(4, requests.data(), &index, MPI_STATUS_IGNORE);
      break;
    case 2:
      while (!done) MPI_Testall(4, requests.data(), &done, MPI_STATUSES_IGNORE);
      break;
    case 3:
      for (int left = 4; left > 0; left -= done)
        MPI_Testany(4, requests.data(), &index, &done, MPI_STATUS_IGNORE);
      break;
    case 4:
      for (MPI_Request& request : requests)
        for (done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      break;
    case 5:
      for (const int first : {0, 2})
        for (int left = 2; left > 0; left -= number)
          MPI_Waitsome(2, &requests[static_cast<std::size_t>(first)], &number, indices.data(),
                       MPI_STATUSES_IGNORE);
      break;
    default:
      for (MPI_Request& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  CHECK(in[0] == from && in[1] == from);
}

// Many at once to itself, ended in another order than begun.
void exchange_many() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int kMany = 300;
  std::vector<int> in(kMany), out(kMany);
  std::vector<MPI_Request> requests(2 * kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    out[i] = static_cast<int>(i);
    MPI_Irecv(&in[i], 1, MPI_INT, rank, out[i], MPI_COMM_WORLD, &requests[i]);
  }
  for (std::size_t i = 0; i < kMany; ++i)
    MPI_Isend(&out[i], 1, MPI_INT, rank, out[i], MPI_COMM_WORLD, &requests[kMany + i]);
  for (std::size_t i = 0; i < requests.size(); i += 3) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  MPI_Waitall(2 * kMany, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(in == out);
}

struct Program {
  int copied_key = MPI_KEYVAL_INVALID, local_key = MPI_KEYVAL_INVALID;
  char storage[100] = {};
  int expected_copies = 0;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int tag_ub = 0;
  int changes = 0, rollbacks = 0, exchanges = 0;
  bool left = false;

  void set_up() {
    MPI_Comm_create_keyval(copy_value, delete_value, &copied_key, &copies);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, &local_key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_WORLD, copied_key, storage);
    MPI_Comm_set_attr(MPI_COMM_WORLD, local_key, storage);
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_name(MPI_COMM_WORLD, "the world");
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "mpi_assert_no_any_source", "true");
    MPI_Comm_set_info(MPI_COMM_WORLD, hints);
    MPI_Info_free(&hints);
    int *value = nullptr, found = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found);
    CHECK(found);
    tag_ub = *value;
  }

  void check_world() const {
    int *value = nullptr, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found);
    CHECK(found && *value == tag_ub);
    char* mine = nullptr;
    MPI_Comm_get_attr(MPI_COMM_WORLD, copied_key, static_cast<void*>(&mine), &found);
    CHECK(found && mine == storage + changes && copies == changes);
    MPI_Comm_get_attr(MPI_COMM_WORLD, local_key, static_cast<void*>(&mine), &found);
    CHECK(found == (changes == 0));
    CHECK(deletions == (changes == 0 ? 0 : changes + 1));
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(!std::strcmp(name, "the world"));
    MPI_Info hints = MPI_INFO_NULL;
    char hint[MPI_MAX_INFO_VAL + 1] = {};
    MPI_Comm_get_info(MPI_COMM_WORLD, &hints);
    MPI_Info_get(hints, "mpi_assert_no_any_source", MPI_MAX_INFO_VAL, hint, &found);
    CHECK(found && !std::strcmp(hint, "true"));
    MPI_Info_free(&hints);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);

    const int before = handled;
    MPI_Comm world = MPI_COMM_WORLD;
    CHECK(MPI_Comm_free(&world) == MPI_ERR_COMM && handled == before + 1);

    int result = MPI_UNEQUAL, size = 0, group_size = 0;
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_IDENT);
    MPI_Comm dup = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
    CHECK(result == MPI_CONGRUENT);
    copies -= 1;  // of the duplicate,
    MPI_Comm_free(&dup);
    deletions -= 1;  // and deleted with it
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_size(group, &group_size);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == group_size);
    MPI_Group_free(&group);
  }

  // What `keep` names stays alive until the commit has returned; nothing when it is empty.
  void window(const std::string& keep) {
    MPI_Comm inter = MPI_COMM_NULL, next = MPI_COMM_NULL, union_comm = MPI_COMM_NULL;
    int staying = 0, leaving = 0, joining = 0, size = 0, inter_flag = 0;
    CHECK(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining) == MPI_SUCCESS);
    CHECK(MPIX_Comm_adapt_union(&union_comm) == MPI_SUCCESS);
    MPI_Comm_size(union_comm, &size);
    CHECK(size == staying + leaving + joining);
    CHECK((inter == MPI_COMM_NULL) == (joining == 0));
    if (inter != MPI_COMM_NULL) {
      MPI_Comm_test_inter(inter, &inter_flag);
      CHECK(inter_flag);
    }
    if (next != MPI_COMM_NULL) {
      MPI_Comm_size(next, &size);
      CHECK(size == staying + joining);
    }
    const int before = handled;
    MPI_Comm not_mine = union_comm;
    CHECK(MPI_Comm_free(&not_mine) == MPI_ERR_COMM);
    handled = before;
    MPI_Comm kept = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int rank = 0, number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (keep == "duplicate") {
      MPI_Comm_dup(MPI_COMM_WORLD, &kept);
      --copies;
      MPI_Comm_set_name(kept, "a kept \xe9t\xe9");  // as Latin-1 has it
    }
    if (keep == "persistent") MPI_Recv_init(&number, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &request);
    if (keep == "pending") MPI_Irecv(&number, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &request);
    const int outcome = MPI_Comm_adapt_commit();
    int error_class = MPI_SUCCESS;
    MPI_Error_class(outcome, &error_class);
    if (!keep.empty() && (leaving > 0 || keep != "duplicate"))
      CHECK(error_class == MPIX_ERR_ADAPT_ROLLED_BACK);
    if (outcome == MPI_SUCCESS)
      ++changes;
    else
      ++rollbacks;
    if (kept != MPI_COMM_NULL) {
      MPI_Comm_free(&kept);
      --deletions;
    }
    if (keep == "pending") {
      MPI_Send(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(number == rank);
    }
    if (keep == "persistent") MPI_Request_free(&request);
  }
};

bool exists(const char* file) {
  struct stat status{};
  return stat(file, &status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 3);
  Program program;
  int status = 0, adapt = 0, rank = 0;
  MPI_Init_adapt(&argc, &argv, &status);
  program.set_up();
  // The page has one writer: what would be another is refused.
  std::thread([&] {
    CHECK(MPIX_Progress_adapt(1, -1) == MPI_ERR_OTHER);
    CHECK(MPI_Probe_adapt(&adapt, nullptr, nullptr) == MPI_ERR_OTHER && adapt == MPI_ADAPT_FALSE);
  }).join();
  if (status == MPI_ADAPT_STATUS_JOINING) program.window("");
  for (int done = 0; !done;) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Probe_adapt(&adapt, &status, &info);
    CHECK((adapt == MPI_ADAPT_TRUE) == (info != MPI_INFO_NULL));
    if (adapt == MPI_ADAPT_TRUE) {
      char value[MPI_MAX_INFO_VAL + 1] = {};
      int found = 0;
      MPI_Info_get(info, "change", MPI_MAX_INFO_VAL, value, &found);
      CHECK(found && *value);
      MPI_Info_free(&info);
      std::string keep;
      std::ifstream(argv[2]) >> keep;
      const int before = program.changes;
      program.window(keep);
      if (status == MPI_ADAPT_STATUS_LEAVING && program.changes > before) break;
    }
    program.check_world();
    exchange(program.exchanges++);
    if (program.exchanges % 10 == 1) exchange_many();
    int stop = exists(argv[1]);
    MPI_Allreduce(&stop, &done, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    usleep(2000);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (status != MPI_ADAPT_STATUS_LEAVING && rank == 0)
    std::printf("finished: changes %d, rollbacks %d\n", program.changes, program.rollbacks);
  MPI_Finalize();
}

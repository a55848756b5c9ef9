// What MPI_COMM_WORLD means across changes (decision R4), checked in every iteration. Ends when STOP_FILE
// exists.
//
//   semantics_program STOP_FILE KEEP_FILE
//
// While KEEP_FILE exists, old ranks keep a duplicate of the world alive in the window: a change in which
// somebody leaves must then roll back and name it.
#include <elastic_mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/adapt/testing/check.hpp"

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

struct Program {
  int copied_key = MPI_KEYVAL_INVALID, local_key = MPI_KEYVAL_INVALID;
  char storage[100] = {};
  int expected_copies = 0;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int tag_ub = 0;
  int changes = 0, rollbacks = 0;
  bool left = false;

  void set_up() {
    MPI_Comm_create_keyval(copy_value, delete_value, &copied_key, &copies);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, &local_key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_WORLD, copied_key, storage);
    MPI_Comm_set_attr(MPI_COMM_WORLD, local_key, storage);
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_name(MPI_COMM_WORLD, "the world");
    int *value = nullptr, found = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
    CHECK(found);
    tag_ub = *value;
  }

  void check_world() const {
    int *value = nullptr, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
    CHECK(found && *value == tag_ub);
    char* mine = nullptr;
    MPI_Comm_get_attr(MPI_COMM_WORLD, copied_key, &mine, &found);
    CHECK(found && mine == storage + changes && copies == changes);
    MPI_Comm_get_attr(MPI_COMM_WORLD, local_key, &mine, &found);
    CHECK(found == (changes == 0));
    CHECK(deletions == (changes == 0 ? 0 : changes + 1));
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(!std::strcmp(name, "the world"));
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

  void window(bool keep, MPI_Comm kept) {
    MPI_Comm inter = MPI_COMM_NULL, next = MPI_COMM_NULL, united = MPI_COMM_NULL;
    int staying = 0, leaving = 0, joining = 0, size = 0, inter_flag = 0;
    CHECK(MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining) == MPI_SUCCESS);
    CHECK(MPIX_Comm_adapt_union(&united) == MPI_SUCCESS);
    MPI_Comm_size(united, &size);
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
    MPI_Comm not_mine = united;
    CHECK(MPI_Comm_free(&not_mine) == MPI_ERR_COMM);
    handled = before;
    if (!keep && kept != MPI_COMM_NULL) MPI_Comm_free(&kept);
    const int outcome = MPI_Comm_adapt_commit();
    int error_class = MPI_SUCCESS;
    MPI_Error_class(outcome, &error_class);
    if (keep && leaving > 0) CHECK(error_class == MPIX_ERR_ADAPT_ROLLED_BACK);
    if (outcome == MPI_SUCCESS)
      ++changes;
    else
      ++rollbacks;
    if (keep && kept != MPI_COMM_NULL) MPI_Comm_free(&kept);
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
  if (status == MPI_ADAPT_STATUS_JOINING) program.window(false, MPI_COMM_NULL);
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
      const bool keep = exists(argv[2]);
      MPI_Comm kept = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_WORLD, &kept);
      --copies;
      MPI_Comm_set_name(kept, "a duplicate that is kept");
      const int before = program.changes, deleted = deletions;
      program.window(keep, kept);
      deletions -= 1;
      CHECK(deletions >= deleted - 1);
      if (status == MPI_ADAPT_STATUS_LEAVING && program.changes > before) break;
    }
    program.check_world();
    int stop = exists(argv[1]);
    MPI_Allreduce(&stop, &done, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    usleep(2000);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (status != MPI_ADAPT_STATUS_LEAVING && rank == 0)
    std::printf("finished: changes %d, rollbacks %d\n", program.changes, program.rollbacks);
  MPI_Finalize();
}

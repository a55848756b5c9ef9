// SPDX-License-Identifier: Apache-2.0
// Live communicators, windows and files that the program has made. They stay on the world they were made
// from: one that joins leavers with stayers would break when the leavers go, so a commit refuses them.
#pragma once
#include <mpi.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace empi::rank {

class DerivedObjects {
 public:
  // `by`: the MPI call that made it. Null handles (MPI_Comm_split with MPI_UNDEFINED) are ignored.
  void made(MPI_Comm comm, const char* by);
  void made(MPI_Win win, const char* by);
  void made(MPI_File file, const char* by);
  void freed(const void* handle);
  // The communicators: the processes of the world are not all there any more (R18). Any thread.
  void revoke();

  // Those with members on both sides: `leaving[r]` says whether rank r of `union_comm` leaves. Named for the
  // reader ("communicator 'halo' made by MPI_Cart_create"). Without those that are revoked, which nobody can
  // use: who went on without others by an exception may not be able to free them. Local.
  std::vector<std::string> across(MPI_Comm union_comm, const std::vector<char>& leaving);

 private:
  enum class Kind { Communicator, Window, File };
  struct Object {
    Kind kind;
    const char* by;
  };
  static std::vector<MPI_Group> groups(const void* handle, Kind kind);
  static bool is_revoked(const void* handle, Kind kind);
  static std::string name(const void* handle, const Object& object);

  std::mutex mutex_;
  std::map<const void*, Object> objects_;
};

DerivedObjects& derived();

}  // namespace empi::rank

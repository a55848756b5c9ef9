// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/derived.hpp"

#include <mpi-ext.h>

#include <numeric>

#include "runtime/rank/revocation.hpp"

namespace empi::rank {

DerivedObjects& derived() {
  static DerivedObjects& instance = *new DerivedObjects;  // threads may call MPI while the process exits
  return instance;
}

void DerivedObjects::made(MPI_Comm comm, const char* by) {
  if (comm == MPI_COMM_NULL) return;
  const std::lock_guard lock(mutex_);
  objects_[comm] = {Kind::Communicator, by};
}

void DerivedObjects::made(MPI_Win win, const char* by) {
  if (win == MPI_WIN_NULL) return;
  const std::lock_guard lock(mutex_);
  objects_[win] = {Kind::Window, by};
}

void DerivedObjects::made(MPI_File file, const char* by) {
  if (file == MPI_FILE_NULL) return;
  const std::lock_guard lock(mutex_);
  objects_[file] = {Kind::File, by};
}

void DerivedObjects::freed(const void* handle) {
  const std::lock_guard lock(mutex_);
  objects_.erase(handle);
}

void DerivedObjects::revoke() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, object] : objects_)
    if (object.kind == Kind::Communicator) rank::revoke(static_cast<MPI_Comm>(const_cast<void*>(handle)));
}

// The caller frees the groups.
std::vector<MPI_Group> DerivedObjects::groups(const void* handle, Kind kind) {
  std::vector<MPI_Group> result(1, MPI_GROUP_NULL);
  void* object = const_cast<void*>(handle);
  switch (kind) {
    case Kind::Communicator: {
      const auto comm = static_cast<MPI_Comm>(object);
      PMPI_Comm_group(comm, &result[0]);
      int inter = 0;
      PMPI_Comm_test_inter(comm, &inter);
      if (inter) PMPI_Comm_remote_group(comm, &result.emplace_back(MPI_GROUP_NULL));
      break;
    }
    case Kind::Window:
      PMPI_Win_get_group(static_cast<MPI_Win>(object), &result[0]);
      break;
    case Kind::File:
      PMPI_File_get_group(static_cast<MPI_File>(object), &result[0]);
      break;
  }
  return result;
}

bool DerivedObjects::is_revoked(const void* handle, Kind kind) {
  int revoked = 0;
  return kind == Kind::Communicator &&
         PMPIX_Comm_is_revoked(static_cast<MPI_Comm>(const_cast<void*>(handle)), &revoked) == MPI_SUCCESS &&
         revoked != 0;
}

std::string DerivedObjects::name(const void* handle, const Object& object) {
  void* opaque = const_cast<void*>(handle);
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  if (object.kind == Kind::Communicator) PMPI_Comm_get_name(static_cast<MPI_Comm>(opaque), name, &length);
  if (object.kind == Kind::Window) PMPI_Win_get_name(static_cast<MPI_Win>(opaque), name, &length);
  const char* kind = object.kind == Kind::Communicator ? "communicator"
                     : object.kind == Kind::Window     ? "window"
                                                       : "file";
  return std::string(kind) + (length > 0 ? " '" + std::string(name) + "'" : "") + " made by " + object.by;
}

std::vector<std::string> DerivedObjects::across(MPI_Comm union_comm, const std::vector<char>& leaving) {
  std::vector<std::string> found;
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Comm_group(union_comm, &all);
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, object] : objects_) {
    if (is_revoked(handle, object.kind)) continue;
    bool leavers = false, stayers = false;
    for (MPI_Group group : groups(handle, object.kind)) {
      if (group == MPI_GROUP_NULL) continue;
      int size = 0;
      PMPI_Group_size(group, &size);
      std::vector<int> ranks(static_cast<std::size_t>(size)), in_union(ranks.size(), MPI_UNDEFINED);
      std::iota(ranks.begin(), ranks.end(), 0);
      PMPI_Group_translate_ranks(group, size, ranks.data(), all, in_union.data());
      for (const int rank : in_union)
        if (rank != MPI_UNDEFINED) (leaving[static_cast<std::size_t>(rank)] ? leavers : stayers) = true;
      PMPI_Group_free(&group);
    }
    if (leavers && stayers) found.push_back(name(handle, object));
  }
  PMPI_Group_free(&all);
  return found;
}

}  // namespace empi::rank

// SPDX-License-Identifier: Apache-2.0
// A scratch folder of all ranks of a test on plain MPI.
#pragma once
#include <mpi.h>

#include <optional>
#include <string>

#include "apps/io/test_files.hpp"

namespace io::test {

/// Made by rank 0, which removes it when all are done with it. Collective over MPI_COMM_WORLD, its end too.
class SharedFolder {
 public:
  SharedFolder() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) mine_.emplace();
    std::string path = mine_ ? mine_->path("") : "";
    path.resize(1000);
    MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = path.c_str();
  }
  ~SharedFolder() { MPI_Barrier(MPI_COMM_WORLD); }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + name; }

 private:
  std::optional<ScratchFolder> mine_;
  std::string path_;  // with a slash at its end
};

}  // namespace io::test

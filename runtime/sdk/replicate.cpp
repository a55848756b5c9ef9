// SPDX-License-Identifier: Apache-2.0
#include "elastic_mpi/replicate.hpp"

#include <algorithm>
#include <cstdint>

namespace elastic {

void broadcast_bytes(MPI_Comm comm, int root, std::vector<std::byte>& bytes) {
  constexpr std::size_t largest_message = std::size_t{1} << 30;  // the count of an MPI call is an int
  auto size = static_cast<std::uint64_t>(bytes.size());
  check_mpi(MPI_Bcast(&size, 1, MPI_UINT64_T, root, comm), "replicating values: sending their size");
  bytes.resize(size);
  for (std::size_t at = 0; at < size; at += largest_message) {
    const auto n = static_cast<int>(std::min(largest_message, bytes.size() - at));
    check_mpi(MPI_Bcast(bytes.data() + at, n, MPI_BYTE, root, comm), "replicating values");
  }
}

}  // namespace elastic

// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/halo.hpp"

#include "apps/mesh/mpi_check.hpp"

namespace mesh {
namespace {
constexpr int kTagFields = 301, kTagValues = 302;

template <class T>
std::vector<T> exchange_values(MPI_Comm comm, std::span<const Halo::Neighbour> neighbours,
                               std::span<const T> send, MPI_Datatype type) {
  std::vector<T> received(send.size());
  std::vector<MPI_Request> requests;
  requests.reserve(2 * neighbours.size());
  for (const auto& n : neighbours) {
    check_mpi(MPI_Irecv(received.data() + n.begin, n.end - n.begin, type, n.rank, kTagValues, comm,
                        &requests.emplace_back()),
              "receiving halo values");
    check_mpi(MPI_Isend(send.data() + n.begin, n.end - n.begin, type, n.rank, kTagValues, comm,
                        &requests.emplace_back()),
              "sending halo values");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "exchanging halo values");
  return received;
}
}  // namespace

template <class Stored>
void Halo::start(std::span<Stored* const> fields, std::span<const std::int32_t> send,
                 std::span<const std::int32_t> receive) {
  const std::size_t count = fields.size();
  send_.resize(count * size());
  receive_.resize(count * size());
  requests_.clear();
  std::get<0>(targets_).clear();
  std::get<1>(targets_).clear();
  std::get<std::vector<Stored*>>(targets_).assign(fields.begin(), fields.end());
  receive_at_.assign(receive.begin(), receive.end());
  requests_.reserve(2 * neighbours_.size());
  for (const auto& n : neighbours_) {
    const auto at = static_cast<std::size_t>(n.begin) * count;
    const int length = (n.end - n.begin) * static_cast<int>(count);
    check_mpi(MPI_Irecv(receive_.data() + at, length, MPI_DOUBLE, n.rank, kTagFields, comm_,
                        &requests_.emplace_back()),
              "receiving the halo");
    std::size_t k = at;
    for (std::int32_t slot = n.begin; slot < n.end; ++slot)
      for (const Stored* field : fields) send_[k++] = field[send[slot]];
    check_mpi(MPI_Isend(send_.data() + at, length, MPI_DOUBLE, n.rank, kTagFields, comm_,
                        &requests_.emplace_back()),
              "sending the halo");
  }
}

template void Halo::start(std::span<double* const>, std::span<const std::int32_t>,
                          std::span<const std::int32_t>);
template void Halo::start(std::span<float* const>, std::span<const std::int32_t>,
                          std::span<const std::int32_t>);

void Halo::finish() {
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
            "exchanging the halo");
  const auto fill = [this]<class Stored>(const std::vector<Stored*>& targets) {
    std::size_t k = 0;
    for (std::size_t slot = 0; slot < size() && !targets.empty(); ++slot)
      for (Stored* target : targets) target[receive_at_[slot]] = static_cast<Stored>(receive_[k++]);
  };
  fill(std::get<0>(targets_));
  fill(std::get<1>(targets_));
}

std::vector<std::uint64_t> Halo::exchange(std::span<const std::uint64_t> send) const {
  return exchange_values(comm_, neighbours_, send, MPI_UINT64_T);
}
std::vector<std::uint8_t> Halo::exchange(std::span<const std::uint8_t> send) const {
  return exchange_values(comm_, neighbours_, send, MPI_UINT8_T);
}

}  // namespace mesh

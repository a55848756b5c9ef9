// SPDX-License-Identifier: Apache-2.0
// Messages of any length to and from other ranks (the count of an MPI call is an int), waited for together.
// Their buffers must not go away while MPI may use them. A lost rank is an error, and not an endless wait.
#pragma once
#include <mpi.h>

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace elastic {

class Requests {
 public:
  Requests(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}

  void send(const std::byte* data, std::int64_t bytes, int peer) {
    in_pieces(bytes, [&](std::int64_t at, int n, MPI_Request* request) {
      return MPI_Isend(data + at, n, MPI_BYTE, peer, tag_, comm_, request);
    });
  }

  void receive(std::byte* data, std::int64_t bytes, int peer) {
    in_pieces(bytes, [&](std::int64_t at, int n, MPI_Request* request) {
      return MPI_Irecv(data + at, n, MPI_BYTE, peer, tag_, comm_, request);
    });
  }

  // Waits until all have ended. Returns an MPI error code; after an error the requests and the buffers stay
  // MPI's for good: it may go on with a message that a revoked communicator ended for us, and Open MPI aborts
  // if such a request was freed (quirk requests-freed). So nothing is freed before it is certain that all is
  // well.
  int wait() {
    for (const auto request : requests_) {
      for (int done = 0; !done && code_ == MPI_SUCCESS;) {
        const int code = MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) code_ = code;
        // That would not be told otherwise (quirk get-status).
        if (!done && code_ == MPI_SUCCESS && interrupted()) code_ = MPIX_ERR_REVOKED;
      }
    }
    if (code_ == MPI_SUCCESS && interrupted()) code_ = MPIX_ERR_REVOKED;
    if (code_ == MPI_SUCCESS)
      code_ = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    return code_;
  }

 private:
  template <class Start>
  void in_pieces(std::int64_t bytes, Start start) {
    for (std::int64_t at = 0; at < bytes && code_ == MPI_SUCCESS; at += kLargestMessage) {
      MPI_Request request = MPI_REQUEST_NULL;
      code_ = start(at, static_cast<int>(std::min(kLargestMessage, bytes - at)), &request);
      if (code_ == MPI_SUCCESS) requests_.push_back(request);
    }
  }

  bool interrupted() const {
    int revoked = 0, failed = 0;
    MPI_Group lost = MPI_GROUP_NULL;
    if (MPIX_Comm_is_revoked(comm_, &revoked) != MPI_SUCCESS) return true;
    if (MPIX_Comm_get_failed(comm_, &lost) == MPI_SUCCESS) {
      MPI_Group_size(lost, &failed);
      MPI_Group_free(&lost);
    }
    return revoked != 0 || failed != 0;
  }

  static constexpr std::int64_t kLargestMessage = std::int64_t{1}
                                                  << 30;  // the count of an MPI call is an int

  MPI_Comm comm_;
  const int tag_;
  std::vector<MPI_Request> requests_;
  int code_ = MPI_SUCCESS;
};

}  // namespace elastic

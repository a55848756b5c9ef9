// SPDX-License-Identifier: Apache-2.0
// What the generated table of collectives (pmpi/generate_test.py) says of each.
#pragma once
#include <mpi.h>

#include <vector>

namespace empi::testing {

// The arguments that any collective has. `buffer`, `count` and `datatype` are recvbuf, sendcount and
// sendtype.
struct Arguments {
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  int sendcount = 0, recvcount = 0;
  const int *sendcounts = nullptr, *recvcounts = nullptr, *sdispls = nullptr, *rdispls = nullptr;
  const MPI_Aint *sdispls_bytes = nullptr, *rdispls_bytes = nullptr;  // of the neighbourhood's w
  MPI_Datatype sendtype = MPI_DATATYPE_NULL, recvtype = MPI_DATATYPE_NULL;
  const MPI_Datatype *sendtypes = nullptr, *recvtypes = nullptr;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Request* request = nullptr;
};

enum class Operation {
  Barrier,
  Bcast,
  Gather,
  Scatter,
  Allgather,
  Alltoall,
  Reduce,
  Allreduce,
  ReduceScatter,
  ReduceScatterBlock,
  Scan,
  Exscan,
  NeighborAllgather,
  NeighborAlltoall
};
enum class Counts { One, V, W };  // the same for all; one for each peer; and a datatype for each
enum class Completion { Blocking, NonBlocking, Persistent };

struct Call {
  const char* name;
  Operation operation;
  Counts counts;
  Completion completion;
  int (*wrapped)(const Arguments&);
  int (*plain)(const Arguments&);
};

const std::vector<Call>& calls();

}  // namespace empi::testing

// SPDX-License-Identifier: Apache-2.0
// A plain MPI program that knows nothing of elasticity: a token goes round, every rank adds its number.
#include <mpi.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long sum = 0;
  const bool to_nobody = argc > 1 && std::strcmp(argv[1], "to_nobody") == 0;  // a fatal error of MPI
  const int next = to_nobody ? size : (rank + 1) % size, previous = (rank + size - 1) % size;
  if (rank == 0) {
    MPI_Send(&sum, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
    MPI_Recv(&sum, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("ring of %d: %s\n", size, sum == long(size) * (size - 1) / 2 ? "right" : "WRONG");
  } else {
    MPI_Recv(&sum, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    MPI_Send(&sum, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

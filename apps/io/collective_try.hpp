// SPDX-License-Identifier: Apache-2.0
// Work that may fail on one rank alone, such as reading a file: all ranks learn of it, so that none goes on
// alone and waits for the others.
#pragma once
#include <mpi.h>

#include <cstdio>
#include <elastic_error.hpp>
#include <exception>
#include <string>

#include "apps/io/file_error.hpp"

namespace io {

/// Runs `work` on every rank of `world`; where it throws on one, FileError with the words of the first
/// such rank is thrown on every rank. Collective; `work` itself is not. Throws elastic::Error where MPI
/// fails, as when a rank is lost: a loop that bears that sees it.
template <class Work>
void together(MPI_Comm world, Work&& work) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  std::string words;
  bool failed = false;
  try {
    work();
  } catch (const std::exception& error) {
    words = error.what(), failed = true;
  }
  int first = failed ? rank : ranks;
  const auto check = [](int code) { elastic::check_mpi(code, "learning whether the other ranks succeeded"); };
  check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, world));
  if (first == ranks) return;
  int size = static_cast<int>(words.size());
  check(MPI_Bcast(&size, 1, MPI_INT, first, world));
  words.resize(static_cast<std::size_t>(size));
  check(MPI_Bcast(words.data(), size, MPI_CHAR, first, world));
  throw FileError(words);
}

/// The same for work of rank 0 alone, such as writing results. Collective.
template <class Work>
void on_first_rank(MPI_Comm world, Work&& work) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  together(world, [&] {
    if (rank == 0) work();
  });
}

/// What a program does before its loop, such as reading its input: together() by the ranks that start the
/// job, each for itself by those that join a running one, which may not communicate yet.
template <class Work>
void prepare(bool joining, Work&& work) {
  if (joining)
    work();
  else
    together(MPI_COMM_WORLD, work);
}

/// What a program does with an error that ends it: "PROGRAM: WORDS" by rank 0 where all ranks have it, as
/// together() sees to, else (`alone`) by this one. Returns the exit status.
inline int refuse(const char* program, const std::exception& error, bool alone) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (alone || rank == 0) std::fprintf(stderr, "%s: %s\n", program, error.what());
  return FileError::exit_status;
}

}  // namespace io

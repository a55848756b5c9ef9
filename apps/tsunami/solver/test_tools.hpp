// SPDX-License-Identifier: Apache-2.0
// Shared by the solver's tests, which run on several ranks.
#pragma once
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/io/test_record.hpp"
#include "apps/tsunami/solver/solver.hpp"
#include "runtime/base/hash.hpp"

namespace swe::testing {

constexpr double kG = 9.81;  // m/s^2

using io::test::record;

inline void run(Solver& s, double end) {
  while (s.time() < end) s.step(end - s.time());
}

inline int rank() {
  int r = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}
inline int ranks() {
  int p = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  return p;
}
inline double sum(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}
inline double maximum(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

// All cells of all ranks in curve order, on every rank.
template <class Stored>
std::vector<Element> gather(BasicSolver<Stored>& solver) {
  const auto& mine = solver.elements();
  const int bytes = static_cast<int>(mine.size() * sizeof(Element));
  std::vector<int> counts(ranks()), at(ranks());
  MPI_Allgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 1; r < ranks(); ++r) at[r] = at[r - 1] + counts[r - 1];
  std::vector<Element> all(static_cast<std::size_t>(at.back() + counts.back()) / sizeof(Element));
  MPI_Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), at.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  return all;
}

// Uniform numbers in [0, 1) that depend on the arguments only.
inline double noise(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  const std::uint64_t x =
      empi::mix64(a * empi::kSplitMix64Step + b * 0xbf58476d1ce4e5b9ull + c * 0x94d049bb133111ebull + 1);
  return static_cast<double>(x >> 11) * 0x1p-53;
}

// Bilinear between random values in [low, high] on a grid of the given spacing.
inline double rough(double x, double y, double spacing, double low, double high) {
  const double i = std::floor(x / spacing), j = std::floor(y / spacing), s = x / spacing - i,
               t = y / spacing - j;
  const auto at = [&](double di, double dj) {
    return low + (high - low) * noise(static_cast<std::uint64_t>(i + di + 1000),
                                      static_cast<std::uint64_t>(j + dj + 1000));
  };
  return (1 - t) * ((1 - s) * at(0, 0) + s * at(1, 0)) + t * ((1 - s) * at(0, 1) + s * at(1, 1));
}

// Centroid of cell i in metres or degrees.
struct Place {
  double x, y;
};
inline Place centroid(const Solver& s, std::size_t i) {
  const mesh::Triangle t = s.mesh().triangle(i);
  return {s.metric().x((double(t.a.x) + t.b.x + t.c.x) / 3),
          s.metric().y((double(t.a.y) + t.b.y + t.c.y) / 3)};
}

// A rank's capacity in a random resize: some ranks leave (0), rank 0 too; the same numbers on every rank.
inline double random_capacity(std::uint64_t trial) {
  const int stays = static_cast<int>(noise(trial, 77) * ranks());  // never all leave
  const double c = noise(trial, static_cast<std::uint64_t>(rank()), 5);
  return c < 0.3 && rank() != stays ? 0 : 0.2 + c;
}

}  // namespace swe::testing

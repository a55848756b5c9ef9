// SPDX-License-Identifier: Apache-2.0
// The seven-point matrix of incompressible flow on SPE10's blocks: harmonic two-point transmissibilities,
// producers' pressure fixed by adding to the diagonal; nothing flows through inactive blocks. It is what
// other codes' iteration counts on this field refer to; the reservoir application itself solves another
// system.
#pragma once
#include <cmath>

#include "apps/spe10/field/field.hpp"
#include "apps/spe10/solver/linear_solver.hpp"

namespace spe10 {

// Rows of the ranks' equal shares of the blocks, x fastest; the right hand side is 1 everywhere.
inline SparseRows seven_point(const Field& f, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto n = static_cast<std::int64_t>(f.kx.size());
  const std::int64_t first = n * rank / ranks, end = n * (rank + 1) / ranks;
  SparseRows rows;
  const std::vector<float>& ky = f.ky.empty() ? f.kx : f.ky;
  rows.first = first;
  rows.begin.assign(1, 0);
  const auto harmonic = [](double a, double b) { return 2 * a * b / (a + b); };
  const double tx = f.dy * f.dz / f.dx, ty = f.dx * f.dz / f.dy, tz = f.dx * f.dy / f.dz;
  for (std::int64_t b = first; b < end; ++b) {
    const int i = static_cast<int>(b % f.nx), j = static_cast<int>(b / f.nx % f.ny),
              k = static_cast<int>(b / f.nx / f.ny);
    const auto here = static_cast<std::size_t>(b);
    const std::size_t diagonal = rows.column.size();
    rows.column.push_back(static_cast<std::int32_t>(b)), rows.value.push_back(0);
    const auto couple = [&](int di, int dj, int dk, double geometry, const std::vector<float>& perm) {
      if (i + di < 0 || i + di >= f.nx || j + dj < 0 || j + dj >= f.ny || k + dk < 0 || k + dk >= f.nz)
        return;
      const std::size_t there = f.at(i + di, j + dj, k + dk);
      if (!f.active(here) || !f.active(there)) return;
      const double t = geometry * harmonic(perm[here], perm[there]);
      rows.column.push_back(static_cast<std::int32_t>(there)), rows.value.push_back(-t);
      rows.value[diagonal] += t;
    };
    couple(-1, 0, 0, tx, f.kx), couple(1, 0, 0, tx, f.kx);
    couple(0, -1, 0, ty, ky), couple(0, 1, 0, ty, ky);
    couple(0, 0, -1, tz, f.kz), couple(0, 0, 1, tz, f.kz);
    const bool producer = (i == 0 || i == f.nx - 1) && (j == 0 || j == f.ny - 1);
    // Peaceman's index of a well of .5 ft.
    const double index = 2 * M_PI * f.dz / std::log(0.14 * std::hypot(f.dx, f.dy) / 0.5);
    if (producer) rows.value[diagonal] += index * f.kx[here];
    rows.rhs.push_back(1);
    rows.begin.push_back(static_cast<std::int32_t>(rows.column.size()));
  }
  return rows;
}

}  // namespace spe10

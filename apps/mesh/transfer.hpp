// SPDX-License-Identifier: Apache-2.0
// How cell data follow an adaption: a list of runs over the old cells, plus at most one cell that changes
// rank so that the two children of a parent never lie on different ranks.
#pragma once
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/mesh/leaf.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/mesh/pieces.hpp"
#include "apps/mesh/run.hpp"

namespace mesh {

struct Transfer {
  using Run = mesh::Run;
  using Kind = Run::Kind;
  std::vector<Run> runs;
  std::size_t new_cells = 0;  // of this rank in the end
  MPI_Comm comm = MPI_COMM_NULL;
  int give_first_to = -1;         // rank that takes this rank's first new cell
  int take_last_from = -1;        // rank whose first new cell is appended here
  bool changed = false;           // true if any leaf of any rank changed
  double conformity_seconds = 0;  // that marks took to be made conforming, on this rank

  // Data of the new cells of this rank. Collective on comm.
  //   get(old cell) -> T, keep(old begin, new begin, count), put(new cell, T) move the data of one cell;
  //   refine(parent leaf, parent T) -> pair of the children's T; coarsen(parent leaf, first T, second T) ->
  //   T.
  // T is trivially copyable, or a vector of such values, of the same length in every cell (a column of cells,
  // say): `blank` has that length.
  // New cells are numbered as in the rank's final leaves. They may live where the old ones do: all get() come
  // first, then keep() in such an order that none overwrites another's old cells, then all put().
  template <class T, class Get, class Keep, class Put, class Refine, class Coarsen>
  void apply(Get get, Keep keep, Put put, Refine refine, const Coarsen& coarsen, const T& blank = T{}) const {
    T given = blank;
    const std::int32_t gives = give_first_to >= 0 ? 1 : 0;
    std::vector<Piece> kept;
    std::vector<T> replaced;
    for (const Run& run : runs) {
      if (run.kind != Kind::Keep) {
        for (std::int32_t k = 0; k < run.count; ++k) replaced.push_back(get(run.old_begin + k));
        continue;
      }
      const std::int32_t first = run.new_begin < gives ? 1 : 0;
      if (first == 1) given = get(run.old_begin);
      if (run.count > first)
        kept.push_back({run.old_begin + first, run.new_begin + first - gives, run.count - first});
    }
    move_pieces(std::span(kept), std::identity{}, [&](const Piece& p) { keep(p.from, p.to, p.count); });

    std::int32_t next = 0;
    const auto emit = [&](const T& value) {
      if (next < 0)
        given = value;
      else
        put(next, value);
      ++next;
    };
    const auto emit_child = [&](Leaf child, const T& value, bool refined) {
      if (!refined) return emit(value);
      const auto [first, second] = refine(child, value);
      emit(first), emit(second);
    };
    auto old = replaced.begin();
    for (const Run& run : runs) {
      if (run.kind == Kind::Keep) continue;
      next = run.new_begin - gives;
      if (run.kind == Kind::Refine) {
        const auto [first, second] = refine(run.parent, *old);
        emit_child(run.parent.child(0), first, run.child_refined[0]);
        emit_child(run.parent.child(1), second, run.child_refined[1]);
      } else {
        emit(coarsen(run.parent, old[0], old[1]));
      }
      old += run.count;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    if (give_first_to >= 0)
      check_mpi(MPI_Isend(wire(given), wire_bytes(given), MPI_BYTE, give_first_to, 303, comm, &request),
                "giving a cell");
    if (take_last_from >= 0) {
      T taken = blank;
      check_mpi(
          MPI_Recv(wire(taken), wire_bytes(taken), MPI_BYTE, take_last_from, 303, comm, MPI_STATUS_IGNORE),
          "taking a cell");
      put(static_cast<std::int32_t>(new_cells) - 1, taken);
    }
    check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "giving a cell");
  }

  // The same for data in one vector.
  template <class T, class Refine, class Coarsen>
  std::vector<T> apply(const std::vector<T>& old, Refine refine, Coarsen coarsen) const {
    std::vector<T> result(new_cells);
    apply<T>([&](std::int32_t i) { return old[i]; },
             [&](std::int32_t from, std::int32_t to, std::int32_t count) {
               std::copy_n(old.begin() + from, count, result.begin() + to);
             },
             [&](std::int32_t i, const T& value) { result[i] = value; }, refine, coarsen);
    return result;
  }

 private:
  // The memory of one cell's data, as it goes from rank to rank.
  template <class T>
  static void* wire(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      return &value;
    } else {
      static_assert(std::is_trivially_copyable_v<typename T::value_type>);
      return value.data();
    }
  }
  template <class T>
  static int wire_bytes(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      return static_cast<int>(sizeof(T));
    else
      return static_cast<int>(value.size() * sizeof(typename T::value_type));
  }
};

}  // namespace mesh

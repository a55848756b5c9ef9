// SPDX-License-Identifier: Apache-2.0
// How cell data follow an adaption: a list of runs over the old cells, plus at most one cell that changes
// rank so that the two children of a parent never lie on different ranks.
#pragma once
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/mesh/leaf.hpp"
#include "apps/mesh/mpi_check.hpp"

namespace mesh {

struct Transfer {
  enum class Kind : std::uint8_t { Keep, Refine, Coarsen };
  struct Run {
    Kind kind;
    std::int32_t old_begin;
    std::int32_t count;                      // old cells: any number for keep, 1 for refine, 2 for coarsen
    Leaf parent = {};                        // refine: the old leaf; coarsen: the new one
    std::array<bool, 2> child_refined = {};  // refine: conformity bisects this child once more
  };
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
  // New cells are numbered as in the rank's final leaves. keep() may see new begin = -1 never.
  template <class T, class Get, class Keep, class Put, class Refine, class Coarsen>
  void apply(Get get, Keep keep, Put put, Refine refine, const Coarsen& coarsen, const T& blank = T{}) const {
    T given = blank;
    std::int32_t next = give_first_to >= 0 ? -1 : 0;
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
    for (const Run& run : runs) {
      if (run.kind == Kind::Refine) {
        const auto [first, second] = refine(run.parent, get(run.old_begin));
        emit_child(run.parent.child(0), first, run.child_refined[0]);
        emit_child(run.parent.child(1), second, run.child_refined[1]);
      } else if (run.kind == Kind::Coarsen) {
        emit(coarsen(run.parent, get(run.old_begin), get(run.old_begin + 1)));
      } else {
        std::int32_t begin = run.old_begin, count = run.count;
        if (next < 0) emit(get(begin)), ++begin, --count;
        if (count > 0) keep(begin, next, count);
        next += count;
      }
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
      put(next, taken);
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

// SPDX-License-Identifier: Apache-2.0
// One collective call in one form, on one rank: its arguments, in memory that says when too much of it is
// read, and the bytes that it sends.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "runtime/rank/testing/check.hpp"
#include "runtime/rank/testing/wrapper_forms.hpp"
#include "runtime/rank/testing/wrapper_forms_scene.hpp"

namespace empi::testing {

// An address that ends the process when it is read.
inline void* forbidden() {
  static void* page = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  return page;
}

// Arrays of exactly the length asked for, with nothing readable behind them.
class Storage {
 public:
  template <class T>
  T* make(const std::vector<T>& values) {
    // T may be a pointer (MPI_Datatype), whose own bytes are meant.
    return static_cast<T*>(
        make_bytes(static_cast<const void*>(values.data()), std::span(values).size_bytes()));
  }
  // Received ints, kept for the comparison.
  void* receive(const std::vector<int>& before) {
    received_bytes_ = before.size() * sizeof(int);
    return received_ = before.empty() ? nullptr : make(before);
  }
  bool same_received(const Storage& other) const {
    return received_bytes_ == other.received_bytes_ &&
           (received_bytes_ == 0 || std::memcmp(received_, other.received_, received_bytes_) == 0);
  }

 private:
  // What AddressSanitizer watches ends exactly where the array ends, and begins where it begins.
  void* make_bytes(const void* values, std::size_t bytes) {
    if (bytes == 0) return nullptr;
#ifdef EMPI_ADDRESS_SANITIZER
    std::shared_ptr<char> memory(new char[bytes], std::default_delete<char[]>());
    char* start = memory.get();
#else
    const std::size_t page = 4096, used = (bytes + page - 1) / page * page;
    void* mapped = mmap(nullptr, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED && mprotect(static_cast<char*>(mapped) + used, page, PROT_NONE) == 0);
    std::shared_ptr<void> memory(mapped, [used](void* m) { munmap(m, used + page); });
    char* start = static_cast<char*>(mapped) + used - bytes;
#endif
    std::memcpy(start, values, bytes);
    owned_.push_back(memory);
    return start;
  }

  std::vector<std::shared_ptr<void>> owned_;
  void* received_ = nullptr;
  std::size_t received_bytes_ = 0;
};

enum class Insignificant { Null, Forbidden };

struct Form {
  bool in_place = false, empty = false;
  int root = 0, root_group = 0;
  Insignificant rest = Insignificant::Null;
};

inline bool rooted(Operation operation) {
  return operation == Operation::Bcast || operation == Operation::Gather || operation == Operation::Scatter ||
         operation == Operation::Reduce;
}
inline bool over_neighbours(Operation operation) {
  return operation == Operation::NeighborAllgather || operation == Operation::NeighborAlltoall;
}
inline bool knows_in_place(Operation operation) {
  return operation != Operation::Barrier && operation != Operation::Bcast && !over_neighbours(operation);
}

// One call on one rank: its arguments, and what the wrapper has to count.
class Case {
 public:
  Case(const Call& call, const Scene& scene, const Form& form) : call_(call), scene_(scene), form_(form) {
    forbid_everything();
    a.comm = scene.comm;
    a.info = MPI_INFO_NULL;
    if (rooted(call.operation)) {
      a.root = form.root;
      if (scene.inter && scene.group == form.root_group)
        a.root = scene.rank == form.root ? MPI_ROOT : MPI_PROC_NULL;
      is_root_ = scene.inter ? a.root == MPI_ROOT : scene.rank == form.root;
    }
    fill();
  }

  Arguments a;
  Storage storage;
  std::uint64_t sent = 0;  // bytes

 private:
  // --- blocks, the same on both ends: `from` and `to` are ranks in their own groups
  int of(int rank) const { return form_.empty ? 0 : call_.counts == Counts::One ? 2 : rank % 3; }
  int between(int from, int to) const { return of(from + to); }
  bool pairs(int from, int to) const { return call_.counts == Counts::W && (from + to) % 2 == 1; }
  MPI_Datatype type(int from, int to) const { return pairs(from, to) ? MPI_2INT : MPI_INT; }
  int width(int from, int to) const { return pairs(from, to) ? 2 : 1; }
  bool each() const { return call_.counts != Counts::One; }

  void* nowhere() const { return form_.rest == Insignificant::Null ? nullptr : forbidden(); }

  void forbid_everything() {
    const bool null = form_.rest == Insignificant::Null;
    void* const nowhere = this->nowhere();
    const int count = null ? 0 : -7;
    a.sendbuf = a.recvbuf = nowhere;
    a.sendcount = a.recvcount = count;
    a.sendcounts = a.recvcounts = a.sdispls = a.rdispls = static_cast<int*>(nowhere);
    a.sdispls_bytes = a.rdispls_bytes = static_cast<MPI_Aint*>(nowhere);
    a.sendtype = a.recvtype = null ? MPI_DATATYPE_NULL : static_cast<MPI_Datatype>(nowhere);
    a.sendtypes = a.recvtypes = static_cast<MPI_Datatype*>(nowhere);
    a.op = null ? MPI_OP_NULL : static_cast<MPI_Op>(nowhere);
  }

  // `ints` of this rank's own, unlike those of others.
  std::vector<int> own(int ints) const {
    std::vector<int> values(static_cast<std::size_t>(ints));
    std::iota(values.begin(), values.end(), 1000 * (1 + scene_.rank) + 100000 * scene_.group);
    return values;
  }
  void send(int ints) { a.sendbuf = storage.make(own(ints)); }
  // To a reduction: two nulls are one buffer to MPI, which it refuses.
  void contribute(int ints) { a.sendbuf = storage.make(own(std::max(ints, 1))); }
  void receive(int ints) {
    a.recvbuf = storage.receive(std::vector<int>(static_cast<std::size_t>(ints), -1));
  }
  void receive_over_own(int ints) { a.recvbuf = storage.receive(own(ints)); }
  void count_sent(int ints) { sent += static_cast<std::uint64_t>(ints) * sizeof(int); }

  struct Blocks {
    const int *counts = nullptr, *displs = nullptr;
    const MPI_Aint* displs_bytes = nullptr;
    const MPI_Datatype* types = nullptr;
    int ints = 0;  // in all
  };
  // One block after the other; no arrays when there are none.
  Blocks lay_out(const std::vector<int>& counts, const std::vector<int>& widths) {
    std::vector<int> displs;
    std::vector<MPI_Aint> bytes;
    std::vector<MPI_Datatype> types;
    Blocks blocks;
    const bool w = call_.counts == Counts::W;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      displs.push_back(w ? blocks.ints * static_cast<int>(sizeof(int)) : blocks.ints);
      bytes.push_back(blocks.ints * static_cast<MPI_Aint>(sizeof(int)));
      types.push_back(widths[i] == 2 ? MPI_2INT : MPI_INT);
      blocks.ints += counts[i] * widths[i];
    }
    const bool none = counts.empty();
    blocks.counts = none ? static_cast<int*>(nowhere()) : storage.make(counts);
    blocks.displs = none ? static_cast<int*>(nowhere()) : storage.make(displs);
    blocks.displs_bytes = none ? static_cast<MPI_Aint*>(nowhere()) : storage.make(bytes);
    blocks.types = none ? static_cast<MPI_Datatype*>(nowhere()) : storage.make(types);
    return blocks;
  }
  Blocks blocks_of(int n) {
    std::vector<int> counts;
    for (int i = 0; i < n; ++i) counts.push_back(of(i));
    return lay_out(counts, std::vector<int>(counts.size(), 1));
  }
  // `peers`: those on the other end (MPI_PROC_NULL among them), for sending or receiving.
  Blocks blocks_between(const std::vector<int>& peers) {
    std::vector<int> counts, widths;
    for (const int peer : peers) {
      counts.push_back(peer < 0 ? of(1) : between(scene_.rank, peer));
      widths.push_back(peer < 0 ? 1 : width(scene_.rank, peer));
    }
    return lay_out(counts, widths);
  }

  void send_one(int ints) {
    a.sendcount = ints;
    a.sendtype = MPI_INT;
  }
  void receive_one(int ints) {
    a.recvcount = ints;
    a.recvtype = MPI_INT;
  }
  void send_blocks(const Blocks& blocks, int each_count) {
    if (!each()) return send_one(each_count);
    a.sendcounts = blocks.counts;
    a.sdispls = blocks.displs;
    a.sdispls_bytes = blocks.displs_bytes;
    a.sendtypes = blocks.types;
    a.sendtype = MPI_INT;
  }
  void receive_blocks(const Blocks& blocks, int each_count) {
    if (!each()) return receive_one(each_count);
    a.recvcounts = blocks.counts;
    a.rdispls = blocks.displs;
    a.rdispls_bytes = blocks.displs_bytes;
    a.recvtypes = blocks.types;
    a.recvtype = MPI_INT;
  }

  void fill() {
    switch (call_.operation) {
      case Operation::Barrier:
        return;
      case Operation::Bcast:
        return bcast();
      case Operation::Gather:
        return gather();
      case Operation::Scatter:
        return scatter();
      case Operation::Allgather:
        return allgather();
      case Operation::Alltoall:
        return alltoall();
      case Operation::Reduce:
        return reduce();
      case Operation::Allreduce:
      case Operation::Scan:
      case Operation::Exscan:
        return allreduce();
      case Operation::ReduceScatter:
      case Operation::ReduceScatterBlock:
        return reduce_scatter();
      case Operation::NeighborAllgather:
        return neighbor_allgather();
      case Operation::NeighborAlltoall:
        return neighbor_alltoall();
    }
  }

  void bcast() {
    send_one(form_.empty ? 0 : 5);
    if (a.root == MPI_PROC_NULL) return;  // Open MPI 5.0.7 refuses a bad count or type even so
    if (!is_root_) return receive(a.sendcount);
    receive_over_own(a.sendcount);
    count_sent(a.sendcount);
  }

  void gather() {
    if (a.root >= 0) {
      const bool in_place = form_.in_place && is_root_;
      if (in_place) {
        a.sendbuf = MPI_IN_PLACE;
      } else {
        send_one(of(scene_.rank));
        send(a.sendcount);
        count_sent(a.sendcount);
      }
    }
    if (!is_root_) return;
    const Blocks blocks = blocks_of(scene_.peers);
    receive_blocks(blocks, of(0));
    if (form_.in_place)
      receive_over_own(blocks.ints);
    else
      receive(blocks.ints);
  }

  void scatter() {
    if (is_root_) {
      const Blocks blocks = blocks_of(scene_.peers);
      send_blocks(blocks, of(0));
      send(blocks.ints);
      count_sent(blocks.ints);
    }
    if (a.root < 0) return;
    if (form_.in_place && is_root_) {
      a.recvbuf = MPI_IN_PLACE;
      return;
    }
    receive_one(of(scene_.rank));
    receive(a.recvcount);
  }

  void allgather() {
    const Blocks blocks = blocks_of(scene_.peers);
    receive_blocks(blocks, of(0));
    count_sent(of(scene_.rank));
    if (form_.in_place) {
      a.sendbuf = MPI_IN_PLACE;
      return receive_over_own(blocks.ints);
    }
    receive(blocks.ints);
    send_one(of(scene_.rank));
    send(a.sendcount);
  }

  void alltoall() {
    std::vector<int> peers(static_cast<std::size_t>(scene_.peers));
    std::iota(peers.begin(), peers.end(), 0);
    const Blocks blocks = blocks_between(peers);
    receive_blocks(blocks, of(0));
    count_sent(blocks.ints);
    if (form_.in_place) {
      a.sendbuf = MPI_IN_PLACE;
      return receive_over_own(blocks.ints);
    }
    receive(blocks.ints);
    send_blocks(blocks, of(0));
    send(blocks.ints);
  }

  void reduce() {
    send_one(form_.empty ? 0 : 3);
    a.op = MPI_SUM;
    if (a.root == MPI_PROC_NULL) return;  // Open MPI 5.0.7 refuses a bad type or operation even so
    const bool in_place = form_.in_place && is_root_;
    if (a.root >= 0) {
      count_sent(a.sendcount);
      if (in_place)
        a.sendbuf = MPI_IN_PLACE;
      else
        contribute(a.sendcount);
    }
    if (!is_root_) return;
    if (in_place)
      receive_over_own(a.sendcount);
    else
      receive(a.sendcount);
  }

  void allreduce() {
    send_one(form_.empty ? 0 : 3);
    a.op = MPI_SUM;
    count_sent(a.sendcount);
    if (form_.in_place) {
      a.sendbuf = MPI_IN_PLACE;
      return receive_over_own(a.sendcount);
    }
    contribute(a.sendcount);
    receive(a.sendcount);
  }

  // Both groups of an intercommunicator share out the same number.
  void reduce_scatter() {
    constexpr int kInAll = 6;
    std::vector<int> counts;
    for (int i = 0; i < scene_.size; ++i)
      counts.push_back(form_.empty ? 0 : scene_.inter ? kInAll / scene_.size : of(i));
    const Blocks blocks = lay_out(counts, std::vector<int>(counts.size(), 1));
    const int mine = counts[static_cast<std::size_t>(scene_.rank)];
    a.recvcounts = each() ? blocks.counts : a.recvcounts;
    a.recvcount = each() ? a.recvcount : mine;
    a.sendtype = MPI_INT;
    a.op = MPI_SUM;
    count_sent(blocks.ints);
    if (form_.in_place) {
      a.sendbuf = MPI_IN_PLACE;
      return receive_over_own(blocks.ints);
    }
    contribute(blocks.ints);
    receive(mine);
  }

  void neighbor_allgather() {
    std::vector<int> counts;
    for (const int source : scene_.sources) counts.push_back(source < 0 ? of(1) : of(source));
    const Blocks blocks = lay_out(counts, std::vector<int>(counts.size(), 1));
    receive_blocks(blocks, of(0));
    receive(blocks.ints);
    send_one(of(scene_.rank));
    send(a.sendcount);
    count_sent(a.sendcount);
  }

  void neighbor_alltoall() {
    const Blocks in = blocks_between(scene_.sources), out = blocks_between(scene_.targets);
    receive_blocks(in, of(0));
    receive(in.ints);
    send_blocks(out, of(0));
    send(out.ints);
    count_sent(out.ints);
  }

  const Call& call_;
  const Scene& scene_;
  const Form& form_;
  bool is_root_ = false;
};

}  // namespace empi::testing

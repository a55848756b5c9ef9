// SPDX-License-Identifier: Apache-2.0
// elastic_loop.h: elastic::Loop for programs in C.
#include "runtime/sdk/loop_c.hpp"

#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "runtime/sdk/loop_state.hpp"

namespace elastic {
namespace {

struct Release {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Release>;

Memory allocate(std::size_t bytes) {
  Memory memory(std::calloc(std::max<std::size_t>(bytes, 1), 1));
  if (!memory) throw std::bad_alloc();
  return memory;
}

// A pointer of the program to memory of malloc, and how many elements there are.
class PointerArray final : public detail::Array {
 public:
  PointerArray(void*& data, long long* count, std::size_t element_bytes, const char* type)
      : data_(data),
        told_(count),
        size_(count ? static_cast<std::size_t>(*count) : 0),
        element_bytes_(element_bytes),
        type_(type) {}

  std::size_t element_bytes() const override { return element_bytes_; }
  const char* element_type() const override { return type_; }
  std::size_t size() const override { return size_; }
  const std::byte* bytes() const override { return static_cast<const std::byte*>(data_); }
  std::byte* make_fresh(std::size_t size) override {
    fresh_ = allocate(size * element_bytes_);
    fresh_size_ = size;
    return static_cast<std::byte*>(fresh_.get());
  }
  void accept() noexcept override { static_cast<void>(swap_in()); }
  std::shared_ptr<void> accept_and_keep() override { return {swap_in().release(), Release()}; }
  void drop() noexcept override { fresh_.reset(); }
  void abandon_fresh() noexcept override {
    static_cast<void>(fresh_.release());  // NOLINT(bugprone-unused-return-value): MPI may still write into it
  }
  void resize(std::size_t size) override {
    static_cast<void>(make_fresh(size));
    static_cast<void>(swap_in());
  }

 private:
  // Returns what was the program's.
  Memory swap_in() noexcept {
    if (!fresh_) return nullptr;
    Memory before(std::exchange(data_, fresh_.release()));
    size_ = fresh_size_;
    if (told_) *told_ = static_cast<long long>(size_);
    return before;
  }

  void*& data_;
  long long* told_;
  std::size_t size_, fresh_size_ = 0, element_bytes_;
  const char* type_;
  Memory fresh_;
};

const char* type_of(MPI_Datatype type) {
  if (type == MPI_DOUBLE) return "f8";
  if (type == MPI_FLOAT) return "f4";
  if (type == MPI_INT || type == MPI_INT32_T) return "i4";
  if (type == MPI_LONG_LONG || type == MPI_LONG || type == MPI_INT64_T) return "i8";
  if (type == MPI_UNSIGNED || type == MPI_UINT32_T) return "u4";
  if (type == MPI_UNSIGNED_LONG_LONG || type == MPI_UNSIGNED_LONG || type == MPI_UINT64_T) return "u8";
  if (type == MPI_INT8_T || type == MPI_SIGNED_CHAR || type == MPI_CHAR) return "i1";
  if (type == MPI_UINT8_T || type == MPI_UNSIGNED_CHAR || type == MPI_BYTE) return "u1";
  if (type == MPI_INT16_T || type == MPI_SHORT) return "i2";
  if (type == MPI_UINT16_T || type == MPI_UNSIGNED_SHORT) return "u2";
  throw Error("type: expected a predefined type of one number, such as MPI_DOUBLE or MPI_INT");
}

void need(bool given, const char* what) {
  if (!given) throw Error(std::string(what) + " is NULL");
}

}  // namespace

// What is private of a Loop and is C's business.
struct LoopInC {
  static void add_value(Loop& loop, std::unique_ptr<detail::Value> value) {
    loop.add_value(std::move(value));
  }
  static const Block& add_block(Loop& loop, std::unique_ptr<detail::Array> data, long long rows,
                                long long columns) {
    return loop.add_block(std::move(data), rows, columns);
  }
  static void add_sequence(Loop& loop, std::unique_ptr<detail::Array> data, Loop::WeightsOf weights,
                           Loop::MarksOf marks) {
    loop.add_sequence(std::move(data), std::move(weights), std::move(marks));
  }
};

}  // namespace elastic

using elastic::LoopInC;
using elastic::need;
using elastic::said;

extern "C" {

int elastic_loop_create(int* argc, char*** argv, elastic_loop** loop) {
  return said("elastic_loop_create", [&] {
    need(argc, "argc"), need(argv, "argv"), need(loop, "loop");
    *loop = new elastic_loop(*argc, *argv);
  });
}

int elastic_loop_free(elastic_loop** loop) {
  return said("elastic_loop_free", [&] {
    need(loop, "loop"), need(*loop, "*loop");
    delete std::exchange(*loop, nullptr);
  });
}

int elastic_loop_replicate(elastic_loop* loop, void* value, size_t bytes) {
  return said("elastic_loop_replicate", [&] {
    need(loop, "loop"), need(value, "value");
    if (bytes == 0) throw elastic::Error("bytes: expected at least 1");
    LoopInC::add_value(loop->loop, std::make_unique<elastic::detail::BytesValue>(value, bytes));
  });
}

int elastic_loop_block(elastic_loop* loop, void** data, MPI_Datatype type, long long rows, long long columns,
                       const elastic_block** block) {
  return said("elastic_loop_block", [&] {
    need(loop, "loop"), need(data, "data"), need(block, "block");
    if (*data) throw elastic::Error("*data: expected NULL, for the loop allocates it");
    const char* name = elastic::type_of(type);
    auto array = std::make_unique<elastic::PointerArray>(*data, nullptr,
                                                         static_cast<std::size_t>(name[1] - '0'), name);
    *block = reinterpret_cast<const elastic_block*>(
        &LoopInC::add_block(loop->loop, std::move(array), rows, columns));
  });
}

long long elastic_block_first(const elastic_block* block) {
  return reinterpret_cast<const elastic::Block*>(block)->first();
}

long long elastic_block_count(const elastic_block* block) {
  return reinterpret_cast<const elastic::Block*>(block)->count();
}

int elastic_loop_sequence(elastic_loop* loop, void** data, long long* count, size_t element_bytes,
                          double (*weight)(const void*, void*), int (*may_cut)(const void*, void*),
                          void* state) {
  return said("elastic_loop_sequence", [&] {
    need(loop, "loop"), need(data, "data"), need(count, "count");
    if (element_bytes == 0) throw elastic::Error("element_bytes: expected at least 1");
    if (*count < 0 || (*count > 0 && !*data))
      throw elastic::Error("*count: expected as many elements as *data has");
    const auto each = [data, count, element_bytes](auto&& look) {
      for (long long i = 0; i < *count; ++i)
        look(static_cast<const std::byte*>(*data) + static_cast<std::size_t>(i) * element_bytes);
    };
    std::function<void(std::vector<double>&)> weights;
    std::function<void(std::vector<std::uint8_t>&)> marks;
    if (weight)
      weights = [=](std::vector<double>& out) {
        each([&](const void* e) { out.push_back(weight(e, state)); });
      };
    if (may_cut)
      marks = [=](std::vector<std::uint8_t>& out) {
        each([&](const void* e) { out.push_back(may_cut(e, state) ? 1 : 0); });
      };
    LoopInC::add_sequence(loop->loop,
                          std::make_unique<elastic::PointerArray>(*data, count, element_bytes, ""),
                          std::move(weights), std::move(marks));
  });
}

int elastic_loop_data(elastic_loop* loop, long long (*move)(MPI_Comm, double, void*), void (*accept)(void*),
                      int (*save)(const void**, size_t*, void*),
                      int (*load)(MPI_Comm, int, const void* const*, const size_t*, void*), void* state) {
  return said("elastic_loop_data", [&] {
    need(loop, "loop"), need(move, "move"), need(accept, "accept");
    if (!save != !load) throw elastic::Error("save and load: expected both or neither");
    auto moves = [=](MPI_Comm everybody, double capacity) -> std::int64_t {
      const long long sent = move(everybody, capacity, state);
      if (sent < 0) throw elastic::Error("moving data: returned " + std::to_string(sent));
      return sent;
    };
    if (!save) return loop->loop.data(moves, [=] { accept(state); });
    auto saves = [=] {
      const void* bytes = nullptr;
      std::size_t length = 0;
      if (!save(&bytes, &length, state)) throw elastic::Error("saving data: returned 0");
      const auto* begin = static_cast<const std::byte*>(bytes);
      return std::vector<std::byte>(begin, begin + length);
    };
    auto loads = [=](MPI_Comm world, const std::vector<std::span<const std::byte>>& parts) {
      std::vector<const void*> bytes;
      std::vector<std::size_t> lengths;
      for (const auto part : parts) bytes.push_back(part.data()), lengths.push_back(part.size());
      if (!load(world, static_cast<int>(parts.size()), bytes.data(), lengths.data(), state))
        throw elastic::Error("loading data: returned 0");
    };
    loop->loop.data(moves, [=] { accept(state); }, saves, loads);
  });
}

int elastic_loop_on_release(elastic_loop* loop, void (*hook)(void*), void* state) {
  return said("elastic_loop_on_release", [&] {
    need(loop, "loop"), need(hook, "hook");
    loop->loop.on_release([=] { hook(state); });
  });
}

int elastic_loop_on_rebuild(elastic_loop* loop, void (*hook)(MPI_Comm, void*), void* state) {
  return said("elastic_loop_on_rebuild", [&] {
    need(loop, "loop"), need(hook, "hook");
    loop->loop.on_rebuild([=](MPI_Comm world) { hook(world, state); });
  });
}

int elastic_loop_recoverable(elastic_loop* loop, long long every) {
  return said("elastic_loop_recoverable", [&] {
    need(loop, "loop");
    loop->loop.recoverable(every);
  });
}

int elastic_loop_probe_every(elastic_loop* loop, int iterations) {
  return said("elastic_loop_probe_every", [&] {
    need(loop, "loop");
    loop->loop.probe_every(iterations);
  });
}

int elastic_loop_run(elastic_loop* loop, int (*iteration)(MPI_Comm, void*), void* state) {
  const int result = said("elastic_loop_run", [&] {
    need(loop, "loop"), need(iteration, "iteration");
    loop->loop.run([=](MPI_Comm world) {
      const int going_on = iteration(world, state);
      if (going_on < 0) throw elastic::Error("the iteration returned " + std::to_string(going_on));
      return going_on > 0;
    });
  });
  // The other ranks would wait for this one for ever.
  if (result != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  return result;
}

int elastic_loop_joining(const elastic_loop* loop) { return loop->loop.joining(); }
int elastic_loop_left(const elastic_loop* loop) { return loop->loop.left(); }
int elastic_loop_restored(const elastic_loop* loop) { return loop->loop.restored(); }
int elastic_loop_recovering(const elastic_loop* loop) { return loop->loop.recovering(); }
int elastic_loop_recoveries(const elastic_loop* loop) { return loop->loop.recoveries(); }
int elastic_loop_changes(const elastic_loop* loop) { return loop->loop.changes(); }

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// Bytes of which there may be gigabytes, and which are written over whole: a copy of a program's data. They
// are not zeroed first, appending moves pages rather than bytes, and the system is asked for large pages: the
// faults of small ones cost as much as the copying. Without a source of its own, for the library in the ranks
// exports nothing.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "runtime/base/huge_pages.hpp"

namespace empi {

class LargeBytes {
 public:
  LargeBytes() = default;
  // What is in them is not known. Throws std::bad_alloc.
  explicit LargeBytes(std::size_t size) { grow_to(size); }
  LargeBytes(LargeBytes&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  LargeBytes& operator=(LargeBytes&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  // Keeps the memory.
  void clear() { size_ = 0; }

  // Throws std::bad_alloc; then nothing has changed. `bytes` are not some of these.
  void append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::size_t before = size_;
    grow_to(before + bytes.size());
    std::memcpy(data() + before, bytes.data(), bytes.size());
  }

  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::byte* begin() { return data(); }
  std::byte* end() { return data() + size_; }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  void grow_to(std::size_t size) {
    if (size <= capacity_) {
      size_ = size;
      return;
    }
    std::byte* const before = bytes_.release();
    auto* const grown = static_cast<std::byte*>(std::realloc(before, size));
    bytes_.reset(grown ? grown : before);
    if (!grown) throw std::bad_alloc();
    size_ = capacity_ = size;
    ask_for_huge_pages(grown, size);
  }

  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace empi

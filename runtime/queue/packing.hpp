// SPDX-License-Identifier: Apache-2.0
// Values as bytes, for processes of one architecture.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace empi::queue {

class Packer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    raw(std::as_bytes(std::span(&value, 1)));
  }
  void put(const std::string& text) { block(std::as_bytes(std::span(text))); }
  template <class List>
    requires requires(const List& list) { list.begin(), list.size(); }
  void list(const List& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const auto& value : values) put(value);
  }
  void block(std::span<const std::byte> bytes) {
    put(static_cast<std::uint64_t>(bytes.size()));
    raw(bytes);
  }
  void raw(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// The same in the same order. Throws std::runtime_error when the bytes end too early.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value;
    std::memcpy(&value, raw(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = block();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class List>
  List list() {
    List values;
    for (auto n = get<std::uint64_t>(); n > 0; --n) {
      if constexpr (std::is_same_v<typename List::value_type, std::string>)
        values.insert(values.end(), text());
      else
        values.insert(values.end(), get<typename List::value_type>());
    }
    return values;
  }
  std::span<const std::byte> block() { return raw(get<std::uint64_t>()); }
  std::span<const std::byte> raw(std::size_t size) {
    if (size > bytes_.size()) throw std::runtime_error("a message between master and worker is cut short");
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace empi::queue

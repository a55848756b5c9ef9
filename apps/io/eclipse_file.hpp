// SPDX-License-Identifier: Apache-2.0
// Files as the reservoir simulator Eclipse has them, unformatted: arrays one after the other, each a head
// (name, number, type) and its elements in blocks, big endian, in records as Fortran writes them. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace io {

inline constexpr std::size_t kEclipseWord = 8;  // characters of a name

class EclipseFile {
 public:
  /// `name`: at most eight characters.
  void add(std::string_view name, std::span<const std::int32_t> values);  // INTE
  void add(std::string_view name, std::span<const float> values);         // REAL
  /// What is longer than eight characters is cut off.
  void add(std::string_view name, std::span<const std::string> values);  // CHAR

  const std::string& bytes() const { return bytes_; }

 private:
  void head(std::string_view name, std::size_t count, std::string_view type);
  void number(std::uint32_t value);
  void word(std::string_view text);
  template <class T, class Write>
  void blocks(std::span<const T> values, std::size_t at_once, std::size_t bytes_each, Write write);

  std::string bytes_;
};

}  // namespace io

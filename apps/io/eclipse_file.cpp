// SPDX-License-Identifier: Apache-2.0
#include "apps/io/eclipse_file.hpp"

#include <algorithm>
#include <bit>

namespace io {
namespace {

constexpr std::size_t kNumbersAtOnce = 1000, kWordsAtOnce = 105;  // of a record

}  // namespace

void EclipseFile::number(std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) bytes_ += static_cast<char>(value >> shift & 0xFF);
}

void EclipseFile::word(std::string_view text) {
  bytes_ += text.substr(0, kEclipseWord);
  bytes_.append(kEclipseWord - std::min(kEclipseWord, text.size()), ' ');
}

void EclipseFile::head(std::string_view name, std::size_t count, std::string_view type) {
  number(16);
  word(name);
  number(static_cast<std::uint32_t>(count));
  bytes_ += type;
  number(16);
}

template <class T, class Write>
void EclipseFile::blocks(std::span<const T> values, std::size_t at_once, std::size_t bytes_each,
                         Write write) {
  while (!values.empty()) {
    const auto block = values.first(std::min(at_once, values.size()));
    const auto length = static_cast<std::uint32_t>(block.size() * bytes_each);
    number(length);
    for (const T& value : block) write(value);
    number(length);
    values = values.subspan(block.size());
  }
}

void EclipseFile::add(std::string_view name, std::span<const std::int32_t> values) {
  head(name, values.size(), "INTE");
  blocks(values, kNumbersAtOnce, 4, [&](std::int32_t value) { number(std::bit_cast<std::uint32_t>(value)); });
}

void EclipseFile::add(std::string_view name, std::span<const float> values) {
  head(name, values.size(), "REAL");
  blocks(values, kNumbersAtOnce, 4, [&](float value) { number(std::bit_cast<std::uint32_t>(value)); });
}

void EclipseFile::add(std::string_view name, std::span<const std::string> values) {
  head(name, values.size(), "CHAR");
  blocks(values, kWordsAtOnce, kEclipseWord, [&](const std::string& value) { word(value); });
}

}  // namespace io

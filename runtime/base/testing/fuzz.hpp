// SPDX-License-Identifier: Apache-2.0
// What a fuzzer (cmake/fuzz.cmake) is made of: its source defines seeds() and LLVMFuzzerTestOneInput().
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace empi::fuzz {

// Valid inputs, from which libFuzzer makes others.
std::vector<std::string> seeds();

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What `decode` makes of its input; nothing where it refuses that, as decoders of messages do. What others
// throw afterwards is a finding.
template <class Decode>
auto decoded(Decode decode) -> std::optional<decltype(decode())> {
  try {
    return decode();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// Takes an input apart, from its front; at its end all is zero and empty.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    const std::string_view one = take(1);
    return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
  }
  // With its length before it, in two bytes (see field()).
  std::string_view field() {
    const std::size_t high = byte();
    return take(high << 8 | byte());
  }

 private:
  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
};

// The inverse of Input::field().
inline std::string field(const std::string& bytes) {
  return {std::string{static_cast<char>(bytes.size() >> 8), static_cast<char>(bytes.size())} + bytes};
}

}  // namespace empi::fuzz

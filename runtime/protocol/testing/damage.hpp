// SPDX-License-Identifier: Apache-2.0
// Feeds a decoder with damaged copies of valid bytes and with random ones, the same in every run: each must
// be decoded or refused, by nothing but a std::exception. What a decoder reads or writes beyond its buffers,
// AddressSanitizer sees (the tests that use this run under it).
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/json_text.hpp"

namespace empi::testing {

inline constexpr int kDamagedCopies = 400;  // of each example

inline std::string bytes_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

class Damage {
 public:
  explicit Damage(std::uint32_t seed) : random_(seed) {}

  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }
  char byte() { return static_cast<char>(random_()); }

  std::string random_bytes() {
    std::string bytes(pick(200), '\0');
    for (char& b : bytes) b = byte();
    return bytes;
  }

  // One to four mutations, each at a random place.
  std::string of(std::string bytes) {
    for (std::size_t left = 1 + pick(4); left > 0 && !bytes.empty(); --left) {
      const std::size_t at = pick(bytes.size()),
                        length = 1 + pick(std::min<std::size_t>(bytes.size() - at, 16));
      switch (pick(6)) {
        case 0:
          bytes[at] = byte();
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
          break;
        case 2:
          bytes.erase(at, length);
          break;
        case 3:
          bytes.insert(at, bytes.substr(at, length));
          break;
        case 4:
          bytes.resize(at);
          break;
        default:  // lengths and numbers at their ends
          bytes.replace(at, length, std::string(length, pick(2) ? '\xff' : '\x7f'));
          break;
      }
    }
    return bytes;
  }

 private:
  std::mt19937 random_;
};

// Calls `decode` with damaged copies of each example, and with random bytes. Returns how many it took.
inline int decode_damaged(const std::vector<std::string>& examples,
                          const std::function<void(const std::string&)>& decode) {
  Damage damage(1);
  int taken = 0;
  const auto attempt = [&](const std::string& bytes) {
    bool took = true;
    try {
      decode(bytes);
    } catch (const std::exception&) {
      took = false;
    }
    taken += took;
  };
  for (const std::string& example : examples) {
    EXPECT_NO_THROW(decode(example));
    for (int i = 0; i < kDamagedCopies; ++i) attempt(damage.of(example));
    for (const char open : {'[', '\x81', '\x9f'})  // depth, of JSON and of CBOR
      attempt(example.substr(0, damage.pick(example.size())) + std::string(100'000, open));
  }
  for (int i = 0; i < kDamagedCopies; ++i) attempt(damage.random_bytes());
  return taken;
}

// Damages the values as well as the bytes: members get other types, other numbers, or go.
inline void damage_value(nlohmann::json& value, Damage& damage) {
  using nlohmann::json;
  if (value.is_structured() && !value.empty() && damage.pick(4)) {
    auto at = value.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(damage.pick(value.size())));
    if (value.is_object() && damage.pick(6) == 0)
      value.erase(at);
    else
      damage_value(*at, damage);
    return;
  }
  static const std::vector<json> others = {nullptr,
                                           true,
                                           -1,
                                           0,
                                           2147483648,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           1e300,
                                           -1e-300,
                                           "",
                                           "\xff",
                                           "x",
                                           json::array(),
                                           json::object(),
                                           json::array({json::array({1})}),
                                           json::binary({1, 2})};
  value = others[damage.pick(others.size())];
}

// A type that has a JSON form: from CBOR and from values; what was taken can be written again.
template <class T>
void expect_bounded_as_cbor(const T& example) {
  using nlohmann::json;
  const json valid = example;
  const auto take = [](const json& value) { json_text::safe_text(json(value.get<T>())); };
  decode_damaged({bytes_of(json_text::cbor(valid))},
                 [&](const std::string& bytes) { take(json_text::from_cbor(bytes)); });
  Damage damage(2);
  int refused = 0;
  for (int i = 0; i < kDamagedCopies; ++i) {
    json value = valid;
    damage_value(value, damage);
    try {
      take(value);
    } catch (const std::exception&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);  // else nothing was damaged
}

// And from text.
template <class T>
void expect_bounded(const T& example) {
  expect_bounded_as_cbor(example);
  decode_damaged({json_text::safe_text(nlohmann::json(example))}, [](const std::string& bytes) {
    json_text::safe_text(nlohmann::json(json_text::parse(bytes, json_text::kDeepestMessage).get<T>()));
  });
}

}  // namespace empi::testing

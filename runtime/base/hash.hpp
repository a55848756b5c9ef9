// SPDX-License-Identifier: Apache-2.0
// Mixing and hashing of 64 bits: the same bits on every machine and in every version, for results are
// compared and files are checked by them. Not for secrets. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace empi {

inline constexpr std::uint64_t kSplitMix64Step = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio, odd

// The finaliser of SplitMix64: every bit of `x` reaches every bit of the result. One to one; 0 stays 0.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// SplitMix64 (Steele, Lea, Flood 2014) as a counter-based generator, without a state to keep: the number that
// follows the state `x`. The n-th number of a seed (n = 0, 1, ...) is split_mix64(seed + n *
// kSplitMix64Step).
constexpr std::uint64_t split_mix64(std::uint64_t x) { return mix64(x + kSplitMix64Step); }

inline constexpr std::uint64_t kFnv1aStart = 0xcbf29ce484222325;
inline constexpr std::uint64_t kFnv1aPrime = 0x100000001b3;

// FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923).
constexpr std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = kFnv1aStart;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnv1aPrime;
  return hash;
}
inline std::uint64_t fnv1a(std::span<const std::byte> bytes) {
  return fnv1a(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace empi

// SPDX-License-Identifier: Apache-2.0
// What adaptions do with arrays of which most stays as it is: pieces move in place, and what differs is found
// eight bytes at a time.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>

namespace mesh {

// Of an array, that goes to another place in it.
struct Piece {
  std::int32_t from, to, count;
};

// Calls move(item) for all, whose pieces `piece` gives, in an order in which none is overwritten before it
// was moved. They are in order, before and after, and do not overlap.
template <class T, class GetPiece, class Move>
void move_pieces(std::span<T> items, GetPiece piece, Move move) {
  const auto piece_of = [&](T& item) -> const Piece& { return std::invoke(piece, item); };
  for (T& item : items)
    if (const Piece& p = piece_of(item); p.to <= p.from) move(item);
  for (std::size_t k = items.size(); k-- > 0;)
    if (const Piece& p = piece_of(items[k]); p.to > p.from) move(items[k]);
}

template <class T>
void move_values(T* values, const Piece& p) {
  if (p.to == p.from) return;
  std::memmove(values + p.to, values + p.from, static_cast<std::size_t>(p.count) * sizeof(T));
}

// The first place from `at` on with another value than `common`; the size, if there is none.
template <class Byte>
  requires(sizeof(Byte) == 1)
std::size_t next_other(std::span<const Byte> bytes, std::type_identity_t<Byte> common, std::size_t at) {
  const std::uint64_t eight_common = 0x0101010101010101u * static_cast<std::uint8_t>(common);
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data() + at, 8);
    if (eight != eight_common) break;
  }
  while (at < bytes.size() && bytes[at] == common) ++at;
  return at;
}
template <class Byte>
std::size_t next_nonzero(std::span<const Byte> bytes, std::size_t at) {
  return next_other(bytes, Byte{}, at);
}

}  // namespace mesh

// SPDX-License-Identifier: Apache-2.0
// CBOR (RFC 8949) in place: what agents say to one another is written from structs and read into them without
// a tree of values between (cbor_fields.hpp). Read is what writers of ours write: lengths stand before what
// they are of, and there are no tags. Whatever the bytes are, reading takes time and stack in proportion to
// them. Pure.
#pragma once
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace empi::wire {

template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;

class CborWriter {
 public:
  void map(std::size_t members) { head(5, members); }
  void array(std::size_t elements) { head(4, elements); }
  void text(std::string_view value);
  void binary(std::string_view value);
  template <WholeNumber T>
  void integer(T value) {
    if (std::cmp_less(value, 0))
      head(1, ~static_cast<std::uint64_t>(value));  // -1 - value
    else
      head(0, static_cast<std::uint64_t>(value));
  }
  void number(double value);
  void boolean(bool value) { bytes_.push_back(static_cast<char>(value ? 0xf5 : 0xf4)); }
  void null() { bytes_.push_back(static_cast<char>(0xf6)); }
  void encoded(std::string_view value) { bytes_ += value; }  // one that is CBOR already

  std::string take() { return std::move(bytes_); }

 private:
  void head(unsigned kind, std::uint64_t argument);
  std::string bytes_;
};

// A place in bytes, which must outlive it and what it has read. All throw std::invalid_argument for what is
// something else than what is asked for.
class CborReader {
 public:
  explicit CborReader(std::string_view bytes) : rest_(bytes) {}

  std::size_t map();    // how many members follow, each a text and a value
  std::size_t array();  // how many elements follow
  std::string_view text();
  std::string_view binary();
  template <WholeNumber T>
  T integer() {
    const auto [negative, magnitude] = whole_number();
    if (!negative && std::in_range<T>(magnitude)) return static_cast<T>(magnitude);
    if (negative && magnitude <= INT64_MAX) {
      const std::int64_t value = -1 - static_cast<std::int64_t>(magnitude);
      if (std::in_range<T>(value)) return static_cast<T>(value);
    }
    throw std::invalid_argument("a whole number is out of range");
  }
  bool boolean();
  bool null();                 // whether that comes next; then it is taken
  bool number(double& value);  // whether one of 64 bits comes next; then it is taken
  std::string_view value();    // whatever comes next, as it is encoded

  std::string_view rest() const { return rest_; }
  void go_to(std::string_view rest) { rest_ = rest; }  // one of rest()

 private:
  struct Head {
    unsigned kind, info;  // info: 20 to 22: false, true, null, where the kind is 7
    std::uint64_t argument;
  };
  Head head();
  Head head(unsigned kind);  // of this kind
  std::pair<bool, std::uint64_t> whole_number();
  std::string_view bytes(std::uint64_t count);
  std::size_t count(std::uint64_t elements) const;

  std::string_view rest_;
};

// The members of a map that comes next, in whatever order they are; those that are written in the order in
// which they are asked for cost nothing but their reading.
class CborMembers {
 public:
  explicit CborMembers(CborReader& in) : in_(in), count_(in.map()), first_(in.rest()) {}
  void find(std::string_view name);  // the reader is at its value then; throws std::invalid_argument
  void leave();                      // the reader is behind the map then

 private:
  void look_at_all();

  CborReader& in_;
  const std::size_t count_;
  const std::string_view first_;
  std::size_t read_ = 0;                                            // while they come in our order
  std::vector<std::pair<std::string_view, std::string_view>> all_;  // then: by name, where the value is
  std::string_view end_;
};

}  // namespace empi::wire

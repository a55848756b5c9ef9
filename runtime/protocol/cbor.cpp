// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/cbor.hpp"

#include <algorithm>
#include <bit>

namespace empi::wire {
namespace {

enum Kind : unsigned { kUnsigned, kNegative, kBinary, kText, kArray, kMap, kTag, kSimple };
constexpr unsigned kFalse = 20, kTrue = 21, kNull = 22, kDouble = 27;

constexpr char byte(std::uint64_t value) { return static_cast<char>(value & 0xff); }

void append_big_endian(std::string& bytes, std::uint64_t value, int count) {
  for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) bytes.push_back(byte(value >> shift));
}

}  // namespace

// --- Writing.

void CborWriter::head(unsigned kind, std::uint64_t argument) {
  const auto first = [&](unsigned info) { bytes_.push_back(byte(kind << 5 | info)); };
  if (argument < 24) return first(static_cast<unsigned>(argument));
  const int size = argument <= 0xff ? 0 : argument <= 0xffff ? 1 : argument <= 0xffffffff ? 2 : 3;
  first(24u + static_cast<unsigned>(size));
  append_big_endian(bytes_, argument, 1 << size);
}

void CborWriter::text(std::string_view value) {
  head(kText, value.size());
  bytes_ += value;
}

void CborWriter::binary(std::string_view value) {
  head(kBinary, value.size());
  bytes_ += value;
}

void CborWriter::number(double value) {
  bytes_.push_back(byte(kSimple << 5 | kDouble));
  append_big_endian(bytes_, std::bit_cast<std::uint64_t>(value), 8);
}

// --- Reading.

std::string_view CborReader::bytes(std::uint64_t count) {
  if (count > rest_.size()) throw std::invalid_argument("the message ends within a value");
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

CborReader::Head CborReader::head() {
  const unsigned first = static_cast<unsigned char>(bytes(1).front());
  Head head{first >> 5, first & 0x1f, first & 0x1f};
  if (head.info < 24) return head;
  if (head.info > 27) throw std::invalid_argument("a value has a length that is not said");
  head.argument = 0;
  for (const char c : bytes(1u << (head.info - 24)))
    head.argument = head.argument << 8 | static_cast<unsigned char>(c);
  return head;
}

CborReader::Head CborReader::head(unsigned kind) {
  const Head found = head();
  static constexpr const char* kNames[] = {"a number", "a number",  "bytes", "a text",
                                           "a list",   "an object", "a tag", "a simple value"};
  if (found.kind != kind)
    throw std::invalid_argument(std::string("a value is ") + kNames[found.kind] + ": expected " +
                                kNames[kind]);
  return found;
}

// Each element takes a byte at least.
std::size_t CborReader::count(std::uint64_t elements) const {
  if (elements > rest_.size()) throw std::invalid_argument("a list is longer than the message");
  return elements;
}

std::size_t CborReader::map() { return count(head(kMap).argument); }
std::size_t CborReader::array() { return count(head(kArray).argument); }
std::string_view CborReader::text() { return bytes(head(kText).argument); }
std::string_view CborReader::binary() { return bytes(head(kBinary).argument); }

std::pair<bool, std::uint64_t> CborReader::whole_number() {
  const Head found = head();
  if (found.kind > kNegative) throw std::invalid_argument("a value is no whole number");
  return {found.kind == kNegative, found.argument};
}

bool CborReader::boolean() {
  const Head found = head(kSimple);
  if (found.info != kFalse && found.info != kTrue)
    throw std::invalid_argument("a value is neither true nor false");
  return found.info == kTrue;
}

bool CborReader::null() {
  if (!rest_.starts_with(byte(kSimple << 5 | kNull))) return false;
  rest_.remove_prefix(1);
  return true;
}

bool CborReader::number(double& value) {
  if (!rest_.starts_with(byte(kSimple << 5 | kDouble))) return false;
  value = std::bit_cast<double>(head().argument);
  return true;
}

std::string_view CborReader::value() {
  const std::string_view from = rest_;
  for (std::uint64_t left = 1; left > 0; --left) {
    const Head next = head();
    switch (next.kind) {
      case kBinary:
      case kText:
        bytes(next.argument);
        break;
      case kArray:
        left += count(next.argument);
        break;
      case kMap:
        left += 2 * count(next.argument);
        break;
      case kTag:
        throw std::invalid_argument("a value is a tag");
      default:
        break;
    }
  }
  return from.substr(0, from.size() - rest_.size());
}

// --- Members.

void CborMembers::find(std::string_view name) {
  if (all_.empty() && read_ < count_ && in_.text() == name) {
    ++read_;
    return;
  }
  if (all_.empty()) look_at_all();
  const auto found = std::ranges::find(all_, name, &std::pair<std::string_view, std::string_view>::first);
  if (found == all_.end()) throw std::invalid_argument("'" + std::string(name) + "' is missing");
  in_.go_to(found->second);
}

void CborMembers::look_at_all() {
  in_.go_to(first_);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::string_view name = in_.text();
    all_.emplace_back(name, in_.rest());
    in_.value();
  }
  end_ = in_.rest();
}

void CborMembers::leave() {
  if (!all_.empty()) return in_.go_to(end_);
  for (; read_ < count_; ++read_) {
    in_.text();
    in_.value();
  }
}

}  // namespace empi::wire

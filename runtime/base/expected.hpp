// SPDX-License-Identifier: Apache-2.0
// A value, or the reason why there is none. What std::expected is from C++23 on, with values and errors that
// convert by themselves.
#pragma once
#include <utility>
#include <variant>

namespace empi {

// T and E are different types. value() and error() of the other case throw std::bad_variant_access.
template <class T, class E>
class Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(E error) : content_(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const T& value() const { return std::get<0>(content_); }
  T& value() { return std::get<0>(content_); }
  const E& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, E> content_;
};

}  // namespace empi

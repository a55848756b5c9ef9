// SPDX-License-Identifier: Apache-2.0
// Lines of a program's log. log.cpp alone hands them to spdlog, whose header costs seconds wherever it is.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace empi::log {

enum class Level { Debug, Info, Warn, Error };

using Value = std::variant<std::int64_t, std::uint64_t, double, std::string_view>;

template <class T>
Value value_of(const T& value) {
  if constexpr (std::same_as<T, bool>)
    return std::string_view(value ? "true" : "false");
  else if constexpr (std::unsigned_integral<T>)
    return std::uint64_t{value};
  else if constexpr (std::integral<T>)
    return std::int64_t{value};
  else if constexpr (std::floating_point<T>)
    return double{value};
  else
    return std::string_view(value);
}

// A text with a {} for each value, with fmt's rules, which is told so by the compiler.
template <class... Values>
struct Format {
  consteval Format(const char* text_) : text(text_) {
    std::size_t places = 0;
    for (const char* c = text_; *c != '\0'; ++c) places += *c == '{';
    if (places != sizeof...(Values)) throw "one value for each {}";
  }
  const char* text;
};
template <class... Values>
using FormatFor = Format<std::type_identity_t<Values>...>;

void write(Level level, const char* format, std::initializer_list<Value> values);

template <class... Values>
void debug(FormatFor<Values...> format, const Values&... values) {
  write(Level::Debug, format.text, {value_of(values)...});
}
template <class... Values>
void info(FormatFor<Values...> format, const Values&... values) {
  write(Level::Info, format.text, {value_of(values)...});
}
template <class... Values>
void warn(FormatFor<Values...> format, const Values&... values) {
  write(Level::Warn, format.text, {value_of(values)...});
}
template <class... Values>
void error(FormatFor<Values...> format, const Values&... values) {
  write(Level::Error, format.text, {value_of(values)...});
}

// Where the lines of the process go: to stderr. `pattern` as spdlog has it, `level`: error, warn, info or
// debug.
void to_stderr(const std::string& program, const std::string& pattern, const std::string& level = "info");

}  // namespace empi::log

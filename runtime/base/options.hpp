// SPDX-License-Identifier: Apache-2.0
// What a program may be told on its command line, by environment variables or in a file, described as data.
// options.cpp alone gives it to CLI11: that header costs about ten seconds wherever it is included.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace empi::options {

// What a value must be; made by the functions below.
struct Check {
  enum class Kind { None, Integer, Number, FiniteNumber, Positive, NotNegative, OneOf, ExistingFolder };
  Kind kind = Kind::None;
  std::int64_t least = 0, most = 0;       // Integer
  double low = 0, high = 0;               // Number, FiniteNumber
  std::array<const char*, 5> words = {};  // OneOf, up to the first null
};

template <std::integral T>
constexpr Check in_range(T least, std::type_identity_t<T> most) {
  return {.kind = Check::Kind::Integer, .least = least, .most = most};
}
template <std::floating_point T>
constexpr Check in_range(T low, std::type_identity_t<T> high) {
  return {.kind = Check::Kind::Number, .low = low, .high = high};
}
// The same for numbers with a fraction, in words in the help and when one is refused.
constexpr Check number_between(double low, double high) {
  return {.kind = Check::Kind::FiniteNumber, .low = low, .high = high};
}
constexpr Check positive() { return {.kind = Check::Kind::Positive}; }
constexpr Check not_negative() { return {.kind = Check::Kind::NotNegative}; }
constexpr Check existing_folder() { return {.kind = Check::Kind::ExistingFolder}; }
template <std::same_as<const char*>... Words>
  requires(sizeof...(Words) < 5)
constexpr Check one_of(Words... words) {
  return {.kind = Check::Kind::OneOf, .words = {words...}};
}

// Where the value goes. What is there before is the default; a bool is a flag. A double that is given is
// finite.
using Target = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                            std::vector<int>*, std::vector<double>*, std::vector<std::string>*>;

struct Rules {
  std::string_view variable = {};  // environment variable that is asked when the command line says nothing
  Check check = {};
  bool required = false;
  bool shows_default = false;  // in the help
  bool repeated = false;       // a list that gets one value each time the option is given
  int count = 0;               // values at once; 0: one, or any number for a list
  bool hidden = false;         // not in the help
  // Done to the text before it is checked, and its name in the help.
  std::string (*rewrite)(const std::string& text) = nullptr;
  std::string_view rewrite_name = {};
};

struct Option {
  std::string_view name;  // "-o,--out", "--flag,!--no-flag", or "manifest" for one by position
  Target target;
  std::string_view help = {};
  Rules rules = {};
};

using OptionList = std::vector<Option>;

struct Command {
  std::string_view name, what, footer;
  OptionList options = {};
  std::vector<std::string>* rest = nullptr;  // gets what stands after "--", as it is
};

struct Program {
  std::string_view what;
  std::string_view name = {};    // empty: as it was called
  std::string_view footer = {};  // below the help
  bool reads_file = false;       // --config FILE
  OptionList options = {};
  // Either none, or exactly one has to be given; its name goes to `command`.
  std::vector<Command> commands = {};
  std::string* command = nullptr;
};

// Thrown by `complete` below: the line that is printed is "WHERE: WHAT".
struct Refused : std::runtime_error {
  Refused(std::string where_, const std::string& what) : std::runtime_error(what), where(std::move(where_)) {}
  std::string where;
};

// Fills the targets, then calls `complete` for what depends on several of them. When the program is to end,
// since help was asked for or something is wrong, that is printed, and CLI11's exit code is returned. A
// variable whose value is refused is an error, too; an empty one is none, and the command line wins.
std::optional<int> read(const Program& program, int argc, char** argv,
                        const std::function<void()>& complete = {});

// The same for programs that end here, with 0 or 2, when they are to end.
void read_or_exit(const Program& program, int argc, char** argv, const std::function<void()>& complete = {});

}  // namespace empi::options

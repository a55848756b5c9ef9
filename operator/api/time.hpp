// SPDX-License-Identifier: Apache-2.0
// The operator's units of time, and points in time as text.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace emj {

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;
// UTC, to the millisecond: what status can store without loss.
using Time = std::chrono::sys_time<Millis>;

// RFC 3339, "2026-01-31T12:00:00.250Z"; whole seconds are written without a fraction.
std::string to_string(Time time);
std::optional<Time> parse_time(std::string_view text);
// Of the second that it is in: for people.
inline std::string second_text(Time time) { return to_string(std::chrono::floor<Seconds>(time)); }

inline double seconds_between(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace emj

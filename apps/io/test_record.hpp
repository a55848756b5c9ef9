// SPDX-License-Identifier: Apache-2.0
// For tests: figures that they find go into their reports, and ./dev bench NAME-accuracy makes its tables of
// them (apps/bench/accuracy.py).
#pragma once
#include <gtest/gtest.h>

#include <format>
#include <string>

namespace io::test {

/// A figure that the running test has found; nine digits of it.
inline void record(const std::string& key, double value) {
  ::testing::Test::RecordProperty(key, std::format("{:.9g}", value));
}

}  // namespace io::test

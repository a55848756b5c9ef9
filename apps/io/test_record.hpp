// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <format>
#include <string>

namespace io::test {

/// A figure that the running test has found, for the tables of ./dev bench NAME-accuracy
/// (apps/bench/accuracy.py).
inline void record(const std::string& key, double value) {
  ::testing::Test::RecordProperty(key, std::format("{:.9g}", value));
}

}  // namespace io::test

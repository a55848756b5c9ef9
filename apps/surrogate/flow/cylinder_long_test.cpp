// SPDX-License-Identifier: Apache-2.0
// The case of cylinder_test.cpp with 40 cells across the cylinder: ./dev test long.
#include <gtest/gtest.h>

#include "apps/surrogate/flow/testing/cylinder.hpp"

namespace flow {
namespace {

TEST(CylinderLong, ComesCloserToSchaeferAndTurek) {
  using testing::kReference;
  const testing::Coefficients finest = testing::around_a_cylinder(164);
  testing::record_coefficients("40", finest);
  EXPECT_NEAR(finest.drag, kReference.drag, 0.005 * kReference.drag);
  EXPECT_NEAR(finest.lift, kReference.lift, 0.0006);  // found: 5.595, .0112, .1166
  EXPECT_NEAR(finest.pressure, kReference.pressure, 0.012 * kReference.pressure);
}

}  // namespace
}  // namespace flow

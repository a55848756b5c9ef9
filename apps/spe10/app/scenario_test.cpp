// SPDX-License-Identifier: Apache-2.0
// Promise: a run never goes on from the checkpoint of one that had other wells; what was read or found for
// the checks is not read or found again.
#include "apps/spe10/app/scenario.hpp"

#include <gtest/gtest.h>

#include "apps/io/test_files.hpp"

namespace spe10 {
namespace {

TEST(CaseOfACheckpoint, HasTheDecksContents) {
  const io::test::ScratchFolder folder;
  Options o;
  o.data = "", o.layers = 1;
  const auto name = [&] { return name_case(o, make_scenario(o)); };
  const std::string without = name();
  o.deck = folder.write("deck.yaml", "fluid: {mu_o_cp: 5}\n");
  const std::string before = name();
  EXPECT_NE(before, without);
  EXPECT_EQ(before, name());
  folder.write("deck.yaml", "fluid: {mu_o_cp: 6}\n");
  EXPECT_NE(before, name()) << "the same file, edited";
  o.deck = folder.write("moved.yaml", "fluid: {mu_o_cp: 5}\n");
  EXPECT_EQ(before, name());
}

TEST(Checks, TheDeckIsReadOnce) {
  const io::test::Pipe deck("fluid: {mu_o_cp: 5}\n");
  Options o;
  o.data = "", o.layers = 1, o.deck = deck.path();
  EXPECT_EQ(make_scenario(o).setup.deck.fluid.mu_o, 5);
}

}  // namespace
}  // namespace spe10

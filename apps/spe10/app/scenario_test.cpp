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

TEST(CaseOfACheckpoint, HasTheContentsOfAFieldOfOnesOwn) {
  const io::test::ScratchFolder folder;
  const auto field = [](const std::string& permeability, const std::string& porosity) {
    return "DIMENS\n 2 2 1 /\nDX\n 4*20 /\nDY\n 4*10 /\nDZ\n 4*2 /\nTOPS\n 4*9000 /\nPERMX\n " +
           permeability + " /\nCOPY\n PERMX PERMY /\n PERMX PERMZ /\n/\nPORO\n " + porosity + " /\n";
  };
  Options o;
  o.data = "", o.grid = folder.write("field.grdecl", field("4*100", "4*0.2"));
  o.deck =
      folder.write("deck.yaml",
                   "wells: [{name: A, type: injector, block: [1, 1], rate_stb_per_day: 10, bhp_psi: 9000},"
                   " {name: B, type: producer, block: [2, 2], bhp_psi: 4000}]\n");
  const auto name = [&] { return name_case(o, make_scenario(o)); };
  const std::string before = name();
  EXPECT_EQ(before, name());
  folder.write("field.grdecl", field("3*100 101", "4*0.2"));
  const std::string permeable = name();
  EXPECT_NE(permeable, before) << "the same file, edited";
  folder.write("field.grdecl", field("3*100 101", "3*0.2 0.21"));
  EXPECT_NE(name(), permeable);
}

TEST(Checks, TheDeckIsReadOnce) {
  const io::test::Pipe deck("fluid: {mu_o_cp: 5}\n");
  Options o;
  o.data = "", o.layers = 1, o.deck = deck.path();
  EXPECT_EQ(make_scenario(o).setup.deck.fluid.mu_o, 5);
}

TEST(Checks, TheRadiiOfTheFinestCellsAreFoundOnce) {
  Options o;
  o.data = "", o.layers = 2;
  const Scenario s = make_scenario(o);
  Columns columns(s.setup.domain, s.setup.frame, s.setup.rock);
  columns.mesh = mesh::Mesh(MPI_COMM_WORLD, s.setup.domain, s.setup.finest);
  columns.connect();
  WellModel checked(s.setup.deck, s.setup.wells, s.setup.radii), other(s.setup.deck, s.setup.wells);
  const auto found = checked.completions(columns), anew = other.completions(columns);
  EXPECT_EQ(checked.radii().solved(), s.setup.radii.solved());
  ASSERT_EQ(found.size(), anew.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].index, anew[i].index);
  EXPECT_EQ(other.radii().solved() > 0, !found.empty());
}

}  // namespace
}  // namespace spe10

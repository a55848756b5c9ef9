// SPDX-License-Identifier: Apache-2.0
// Promise: a field of the user's is read from an Eclipse deck as Eclipse reads it, and what it cannot be is
// refused with file, line and what was expected.
#include <gtest/gtest.h>

#include "apps/io/test_files.hpp"
#include "apps/spe10/field/field.hpp"
#include "apps/spe10/model/deck.hpp"

namespace {

using namespace spe10;

const std::string kHead = "DIMENS\n 3 2 2 /\nDXV\n 3*100 /\nDY\n 12*50 /\nDZ\n 12*10 /\n";
const std::string kPermeability = "PERMX\n 12*100 /\nPERMY\n 12*50 /\nPERMZ\n 12*10 /\n";
const std::string kPorosity = "PORO\n 12*0.2 /\n";

class Grid : public testing::Test {
 protected:
  Field read(const std::string& text) const { return read_grid(folder.write("own.grdecl", text)); }
  void refuses(const std::string& text, std::initializer_list<const char*> parts) const {
    const std::string message = io::test::file_error_of([&] { read(text); });
    for (const char* part : parts)
      EXPECT_NE(message.find(part), message.npos) << "'" << part << "' in: '" << message << "' of:\n" << text;
  }
  io::test::ScratchFolder folder;
};

TEST_F(Grid, IsReadAsEclipseReadsIt) {
  folder.write("poro.inc", "-- a comment\nPORO\n 4*0.1 4*0.3\n 0.25 0 0.25 1E-3 / of all blocks\n");
  const Field f = read(
      "RUNSPEC\nTITLE\n GRID of mine\nOIL\nWATER\nTABDIMS\n/\nDIMENS\n 3 2 2 /\nGRID\nDX\n 12*100 /\nDYV\n "
      "2*50/\n"
      "DZ\n12*10 /\nTOPS\n 6*8000 /\nPERMX\n 1 2 3 4 5 6 7 8 9 10 11 12 /\nCOPY\n PERMX PERMY /\n 'PERMX' "
      "'PERMZ' "
      "/\n/\n"
      "MULTIPLY\n PERMZ 0.1 /\n/\nINCLUDE\n 'poro.inc' /\nACTNUM\n 1 0 10*1 /\nPROPS\nSWOF\n what comes here "
      "is not read\n");
  EXPECT_EQ(f.nx, 3);
  EXPECT_EQ(f.ny, 2);
  EXPECT_EQ(f.nz, 2);
  EXPECT_EQ(f.dx, 100);
  EXPECT_EQ(f.dy, 50);
  EXPECT_EQ(f.dz, 10);
  EXPECT_EQ(f.top, 8000);
  EXPECT_EQ(f.kx[f.at(2, 0, 1)], 9) << "x fastest, then y, then the layer";
  EXPECT_EQ(f.along_y(3), 4);
  EXPECT_FLOAT_EQ(f.kz[11], 1.2F);
  EXPECT_FLOAT_EQ(static_cast<float>(f.porosity(4)), 0.3F);
  EXPECT_FALSE(f.active(1)) << "ACTNUM 0";
  EXPECT_FALSE(f.active(9)) << "PORO 0";
  EXPECT_FLOAT_EQ(static_cast<float>(f.porosity(11)), kLeastPorosity) << "substeps go by the smallest pores";
  EXPECT_NE(f.description.find("3 x 2 x 2 blocks, 2 blocks inactive, porosity of 1 raised"),
            std::string::npos)
      << f.description;
  EXPECT_EQ(bare_deck(f).top, 8000);
}

TEST_F(Grid, PermeabilityAlongYIsItsOwn) {
  const Field f = read(kHead + kPermeability + kPorosity);
  EXPECT_EQ(f.along_y(5), 50);
  EXPECT_EQ(f.kx[5], 100);
}

TEST_F(Grid, WrongCountsAreRefused) {
  refuses(kHead + "PORO\n 11*0.2 /\n", {"own.grdecl:10", "PORO 12 of 12", "'/'"});
  refuses(kHead + "PORO\n 5*0.2\n 8*0.3 /\n",
          {"own.grdecl:11", "the '/' after 12 values of PORO", "'8*0.3'"});
  refuses(kHead + "PORO\n 12*0.2 0.3 /\n", {"own.grdecl:10", "the '/' after 12 values", "'0.3'"});
  refuses(kHead + "PERMX\n 5*1\n", {"own.grdecl:11", "PERMX 6 of 12", "the end of the file"});
  refuses("PORO\n 12*0.2 /\n", {"own.grdecl:1", "DIMENS first", "'PORO'"});
  refuses("DIMENS\n 3 2 /\n", {"own.grdecl:2", "nx ny nz", "'3 2'"});
  refuses("DIMENS\n 3 2 0 /\n", {"own.grdecl:2", "at least 1", "'3 2 0'"});
  refuses("DIMENS\n 100000 100000 100000 /\n", {"1e8 blocks at most"});
}

TEST_F(Grid, WrongValuesAreRefused) {
  refuses(kHead + "PERMX\n 5*1 -3 6*1 /\n", {"own.grdecl:10", "PERMX 6 of 12", "above 0", "'-3'"});
  refuses(kHead + "PERMX\n 5*1 nan 6*1 /\n", {"own.grdecl:10", "PERMX 6 of 12", "'nan'"});
  refuses(kHead + "PERMX\n 12*inf /\n", {"own.grdecl:10", "PERMX 1 of 12", "'12*inf'"});
  refuses(kHead + "PERMX\n 0*1 /\n", {"own.grdecl:10", "'0*1'"});
  refuses(kHead + "PORO\n 12*1.2 /\n", {"own.grdecl:10", "a porosity from 0 to 1", "'12*1.2'"});
  refuses(kHead + "ACTNUM\n 12*0.5 /\n", {"own.grdecl:10", "0 or 1"});
  refuses(kHead + kPorosity + "PERMX\n 12*1 /\nPERMY\n 12*1 /\nPERMZ\n 6*1\n 1 0 4*1 /\n",
          {"own.grdecl:17", "PERMZ 8", "0 in a block with pores"});
  refuses("DIMENS\n 3 2 2 /\nDX\n 6*100 6*0 /\n", {"own.grdecl:4", "DX 7 of 12", "'6*0'"});
  refuses(kHead + kPermeability + "PORO\n 12*0 /\n", {"own.grdecl", "a block with PORO above 0"});
}

TEST_F(Grid, WhatCannotBeComputedIsRefused) {
  refuses("DIMENS\n 3 2 2 /\nDZV\n 10 12 /\n", {"own.grdecl:4", "DZV 2 of 2", "blocks of different sizes"});
  refuses(kHead + "TOPS\n 3*8000 3*8100 /\n", {"own.grdecl:10", "TOPS 4 of 6", "layers that dip"});
  refuses(kHead + "COORD\n 1 2 3 /\n", {"own.grdecl:9", "PERMX", "'COORD'"});
  refuses(kHead + "COPY\n PERMX PERMY 1 2 1 2 1 2 /\n/\n", {"own.grdecl:10", "boxes are not read"});
  refuses(kHead + "COPY\n PERMX PERMY /\n/\n", {"own.grdecl:10", "given before", "'PERMX'"});
  refuses(kHead + kPermeability + "MULTIPLY\n PERMX 1e6 /\n/\n", {"own.grdecl:16", "up to 1e6"});
  refuses(kHead + kPermeability + "MULTIPLY\n PERMX 1e-60 /\n/\n", {"own.grdecl:16", "above 0", "found 0"});
  refuses(kHead + "PORO\n 0 11*0.2 /\nPERMX\n 12*1 /\nPERMY\n 12*1 /\nCOPY\n PORO PERMZ /\n/\n" + kPorosity,
          {"own.grdecl: expected PERMZ 1: a permeability", "0 in a block with pores"});
  refuses("METRIC\n" + kHead, {"own.grdecl:1", "field units"});
  refuses(kHead + kPermeability, {"own.grdecl", "expected PORO, found none"});
  refuses("DIMENS\n 3 2 2 /\n" + kPermeability + kPorosity, {"expected DX or DXV, found none"});
  refuses("INCLUDE\n 'own.grdecl' /\n", {"own.grdecl:2", "include"});
  refuses(kHead + "INCLUDE\n 'none.inc' /\n", {"none.inc"});
}

TEST_F(Grid, WellsAreOnItAndInPores) {
  const Field f = read(kHead + kPermeability + kPorosity + "ACTNUM\n 2*1 0 5*1 0 3*1 /\n");
  const auto deck = [&](const std::string& text) {
    return read_deck(folder.write("deck.yaml", text), bare_deck(f), f);
  };
  const std::string well = "wells:\n  - {name: A, type: producer, bhp_psi: 4000, block: ";
  EXPECT_EQ(deck(well + "[3, 2]}\n").wells.at(0).i, 3);
  const auto refused = [&](const std::string& text) { return io::test::file_error_of([&] { deck(text); }); };
  EXPECT_NE(refused(well + "[4, 1]}\n").find("deck.yaml:2: expected i of the well's block from 1 to 3"),
            std::string::npos);
  EXPECT_NE(refused(well + "[3, 1]}\n").find("deck.yaml:2: expected a block that has pores"),
            std::string::npos);
  EXPECT_NE(refused("datum_psi: 5000\n").find("wells on a field of your own"), std::string::npos);
}

}  // namespace

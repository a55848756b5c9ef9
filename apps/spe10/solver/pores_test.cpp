// SPDX-License-Identifier: Apache-2.0
// Promise: blocks with few pores or none neither stall the explicit transport nor are lost: it takes at most
// twice the substeps of the same field with porosity 0.2 everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"
#include "apps/io/test_record.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace {

using namespace spe10;

// Flooded from the middle, lifted in the corners.
spe10::Setup five_wells(const Field& field, double rate) {
  spe10::Setup setup;
  setup.deck.wells = {{"I", field.nx / 2, field.ny / 2, Well::Kind::Injector, rate, 10000},
                      {"P1", 1, 1},
                      {"P2", field.nx, 1},
                      {"P3", field.nx, field.ny},
                      {"P4", 1, field.ny}};
  for (const Well& w : setup.deck.wells) setup.wells.push_back(block_centre(field, w.i, w.j));
  const int blocks = blocks_per_root(field);
  setup.domain = domain_of(field);
  setup.frame = {blocks * field.dx / mesh::kSide, blocks * field.dy / mesh::kSide, 12000, field.dz, field.nz};
  setup.rock = rock_of(field, setup.domain, 1);
  setup.coarsest = setup.finest = aligned_level(field);
  return setup;
}

std::int64_t substeps(const Field& field, double rate, double days) {
  Simulator sim(five_wells(field, rate));
  sim.start(MPI_COMM_WORLD);
  while (sim.clock().days < days) sim.step(days - sim.clock().days);
  double least = 1, most = 0;
  const Columns& c = sim.columns();
  for (std::size_t k = 0; k < c.own() * c.nz(); ++k)
    least = std::min(least, c.s[k]), most = std::max(most, c.s[k]);
  EXPECT_GE(least, 0.2 - 1e-2) << "what expands";
  EXPECT_LE(most, 0.8 + 1e-6);
  EXPECT_GT(most, 0.6) << "nothing was flooded";
  return sim.clock().substeps;
}

// One block in 200 without pores, one with few, and their permeabilities as in SPE10's uppermost layer: .004
// to .79 mD.
TEST(Pores, FewOfThemDoNotStallTheTransport) {
  Field field = synthetic_field(20, 40, 2, 4), tight = field;
  for (std::size_t b = 0; b < field.kx.size(); ++b) {
    field.phi.push_back(0.2F);
    if (b % 100 != 37 && b % 100 != 88) continue;
    field.kx[b] = 0.004F * std::pow(200.0F, static_cast<float>(b % 7) / 6), field.kz[b] = 1e-4F * field.kx[b];
  }
  tight = field;
  for (std::size_t b = 0; b < field.kx.size(); ++b) {
    if (b % 200 == 37) tight.phi[b] = b % 400 == 37 ? 0 : 1e-7F;
    if (b % 200 == 88) tight.phi[b] = 0.0005F * static_cast<float>(1 + b % 19);
  }
  bound_porosity(tight);
  const auto without = substeps(field, 400, 30), with = substeps(tight, 400, 30);
  std::printf("%lld substeps, %lld without\n", static_cast<long long>(with), static_cast<long long>(without));
  EXPECT_LE(with, 2 * without);
}

// The one layer of the data set whose porosity is there.
TEST(Pores, RealOnesDoNotStallTheTransport) {
  const std::string path = io::test::data_file("spe10_model2/spe10_phi_layer1_f32le.bin");
  if (path.empty()) GTEST_SKIP() << "no porosity of SPE10's first layer";
  const Field all = read_spe10(path.substr(0, path.rfind('/')), kSpe10Nz);
  constexpr std::size_t blocks = static_cast<std::size_t>(kSpe10Nx) * kSpe10Ny;
  Field field = all;
  field.nz = 1, field.kx.resize(blocks), field.kz.resize(blocks);
  Field real = field;
  real.phi.resize(blocks);
  const std::vector<char> bytes = io::read_bytes(path);
  ASSERT_EQ(bytes.size(), 4 * blocks);
  std::memcpy(real.phi.data(), bytes.data(), bytes.size());
  bound_porosity(real);
  EXPECT_NE(real.description.find("68 blocks inactive"), std::string::npos) << real.description;
  const auto without = substeps(field, 60, 150), with = substeps(real, 60, 150);
  std::printf("%lld substeps, %lld without\n", static_cast<long long>(with), static_cast<long long>(without));
  io::test::record("substeps", static_cast<double>(with) / static_cast<double>(without));
  EXPECT_LE(with, 2 * without);
}

}  // namespace

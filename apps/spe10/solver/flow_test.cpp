// SPDX-License-Identifier: Apache-2.0
// Promises of the flow solver against exact solutions and symmetries: Buckley and Leverett's front, the
// quarter five-spot, mass, and independence of the distribution over ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "apps/io/test_record.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace {

using namespace spe10;

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
double sum(double mine) {
  double all = 0;
  elastic::check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "adding up");
  return all;
}
double largest(double mine) {
  double all = 0;
  elastic::check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "comparing");
  return all;
}

RockOfColumn constant_rock(float k) {
  return [k](mesh::Leaf, std::span<Rock> column) {
    std::ranges::fill(column, Rock{k, k, 0.1F * k, 0, 0, 0, 0.2});
  };
}
// Layers and blocks of very different permeability and porosity; children's porosities add up to the
// parent's.
RockOfColumn rough_rock() {
  return [](mesh::Leaf leaf, std::span<Rock> column) {
    for (std::size_t z = 0; z < column.size(); ++z) {
      const std::uint64_t mixed = (leaf.key() >> 46) * 2654435761u + z * 40503u;
      const auto k = static_cast<float>(std::pow(10.0, static_cast<double>(mixed % 1000) / 250 - 1));
      column[z] = {k, k, 0.05F * k, 0, 0, 0, 0.1 + 0.02 * static_cast<double>(z % 5)};
    }
  };
}

Fluid incompressible() {
  Fluid fluid;
  fluid.c_w = fluid.c_o = fluid.c_rock = 0;
  return fluid;
}

// Welge's construction: the saturation behind the front, where the chord from the residual point touches the
// curve, and its speed d f / d S.
struct Welge {
  double front, speed;
  explicit Welge(const Fluid& f) {
    double low = f.swc + 1e-6, high = 1 - f.sor - 1e-6;  // chord steeper than the curve's slope below
    for (int n = 0; n < 200; ++n) {
      const double s = 0.5 * (low + high);
      (f.fractional_slope(s) > f.fractional_flow(s) / (s - f.swc) ? low : high) = s;
    }
    front = 0.5 * (low + high);
    speed = f.fractional_slope(front);
  }
};

// Saturation at x when `volume` pore lengths have flowed in.
double exact_saturation(const Fluid& f, const Welge& welge, double x, double volume) {
  if (x >= volume * welge.speed) return f.swc;
  double low = welge.front, high = 1 - f.sor;
  for (int n = 0; n < 100; ++n) {
    const double s = 0.5 * (low + high);
    (f.fractional_slope(s) * volume > x ? low : high) = s;
  }
  return 0.5 * (low + high);
}

struct Front {
  double error_l1, front_error, lowest, highest;
};

// A strip of 16 x 1 root squares, flooded from the west until the front is at about 60 % of its length.
Front buckley_leverett(int level) {
  spe10::Setup setup;
  setup.deck.fluid = incompressible();
  setup.domain = {16, 1};
  const double length = 800;  // ft
  setup.frame = {length / 16 / mesh::kSide, length / 16 / mesh::kSide, 0, 10, 1};
  setup.rock = constant_rock(300);
  setup.coarsest = setup.finest = level;
  setup.gravity = false;
  setup.borders[0] = {[](double, double, double) { return 1000.0; }, 1.0};
  setup.borders[1] = {[](double, double, double) { return 0.0; }, 0.2};
  setup.time.first = 1, setup.time.longest = 20, setup.time.mobility = 0.05;
  setup.deck.datum_pressure = 500;
  Simulator sim(setup);
  sim.start(MPI_COMM_WORLD);
  const Fluid& fluid = setup.deck.fluid;
  const Welge welge(fluid);
  const double pores_per_ft = sum(sim.pore_volume()) / length;
  const double start = sum(sim.water_volume());
  // Before breakthrough all water that came in is inside.
  const auto flowed = [&] { return (sum(sim.water_volume()) - start) / pores_per_ft; };
  double volume = 0;
  while (volume * welge.speed < 0.6 * length) {
    sim.step(1e9);
    volume = flowed();
  }
  Front result{0, 0, 1, 0};
  const Columns& c = sim.columns();
  double ahead = 0;  // how far the numerical front has come: half the height of the jump
  double area = 0;
  const double half = 0.5 * (fluid.swc + welge.front);
  for (std::size_t i = 0; i < c.own(); ++i) {
    const mesh::Triangle t = c.mesh.triangle(i);
    const double x = c.frame.unit_x / 3 * (static_cast<double>(t.a.x) + t.b.x + t.c.x);
    const double s = c.s[c.at(i, 0)];
    result.error_l1 += c.shape[i].area * std::abs(s - exact_saturation(fluid, welge, x, volume));
    area += c.shape[i].area;
    // The area that is flooded, over the width, is the front's mean place.
    if (s > half) ahead += c.shape[i].area;
    result.lowest = std::min(result.lowest, s), result.highest = std::max(result.highest, s);
  }
  const double width = length / 16;
  result.error_l1 = sum(result.error_l1) / sum(area);
  result.front_error = std::abs(sum(ahead) / width - volume * welge.speed) / (volume * welge.speed);
  result.lowest = -largest(-result.lowest), result.highest = largest(result.highest);
  return result;
}

TEST(Flow, BuckleyLeverettFront) {
  if (size_of(MPI_COMM_WORLD) > 1) GTEST_SKIP() << "one rank says it all";
  const Front coarse = buckley_leverett(6), fine = buckley_leverett(8);
  const double order = std::log2(coarse.error_l1 / fine.error_l1);
  if (rank_of(MPI_COMM_WORLD) == 0)
    std::printf("L1 error %.5f and %.5f, order %.2f; front %.2f %% and %.2f %% off\n", coarse.error_l1,
                fine.error_l1, order, 100 * coarse.front_error, 100 * fine.front_error);
  io::test::record("order", order);
  io::test::record("front", fine.front_error);
  EXPECT_GE(order, 0.6);
  EXPECT_LE(fine.front_error, 0.01);
  EXPECT_GE(fine.lowest, 0.2 - 1e-9);
  EXPECT_LE(fine.highest, 1);
}

spe10::Setup five_spot(int level) {
  spe10::Setup setup;
  setup.deck.fluid = incompressible();
  setup.deck.top = setup.deck.datum = 0;
  setup.deck.datum_pressure = 4000;
  setup.deck.wells = {{"I", 1, 1, Well::Kind::Injector, 300, 1e6}, {"P", 8, 8}};
  // On the diagonal, one eighth of a root square from the corners.
  setup.wells = {{mesh::kSide / 2, mesh::kSide / 2},
                 {4ll * mesh::kSide - mesh::kSide / 2, 4ll * mesh::kSide - mesh::kSide / 2}};
  setup.domain = {1, 1};
  setup.frame = {400.0 / mesh::kSide, 400.0 / mesh::kSide, 0, 5, 2};
  setup.rock = constant_rock(200);
  setup.coarsest = setup.finest = level;
  setup.time.first = 5, setup.time.longest = 20;
  setup.solver.tolerance = 1e-13;
  return setup;
}

TEST(Flow, FiveSpotIsSymmetric) {
  Simulator sim(five_spot(7));
  sim.start(MPI_COMM_WORLD);
  while (sim.clock().steps < 8) sim.step(1e9);
  // By centroid: (x, y) and (y, x) must hold the same water. All ranks' values come together.
  const Columns& c = sim.columns();
  std::vector<double> mine;
  for (std::size_t i = 0; i < c.own(); ++i) {
    const mesh::Triangle t = c.mesh.triangle(i);
    mine.insert(mine.end(),
                {static_cast<double>(t.a.x) + t.b.x + t.c.x, static_cast<double>(t.a.y) + t.b.y + t.c.y,
                 c.s[c.at(i, 0)], c.s[c.at(i, 1)], c.p[c.at(i, 0)]});
  }
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(size_of(MPI_COMM_WORLD))), starts(counts.size());
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  int total = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) starts[r] = total, total += counts[r];
  std::vector<double> all(static_cast<std::size_t>(total));
  MPI_Allgatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(), MPI_DOUBLE,
                 MPI_COMM_WORLD);
  std::map<std::pair<double, double>, const double*> at;
  for (std::size_t k = 0; k < all.size(); k += 5) at[{all[k], all[k + 1]}] = &all[k + 2];
  double worst = 0, water = 0;
  for (const auto& [place, values] : at) {
    const auto mirror = at.find({place.second, place.first});
    ASSERT_NE(mirror, at.end());
    for (int k = 0; k < 2; ++k) {
      worst = std::max(worst, std::abs(values[k] - mirror->second[k]));
      water = std::max(water, values[k]);
    }
  }
  EXPECT_GT(water, 0.5) << "nothing was flooded";
  EXPECT_LE(worst, 1e-10) << "saturations that are not symmetric";
}

// Pore volumes injected until a twentieth of what the producer lifts is water.
double breakthrough(int level) {
  spe10::Setup setup = five_spot(level);
  setup.time.mobility = 0.02, setup.solver.tolerance = 1e-10;
  Simulator sim(setup);
  sim.start(MPI_COMM_WORLD);
  const double pores = sum(sim.pore_volume());
  double cut_before = 0, in_before = 0;
  for (int n = 0; n < 1000; ++n) {
    sim.step(1e9);
    const auto& well = sim.wells()[1];
    const double cut = well.water_rate / (well.water_rate + well.oil_rate);
    const double in = sim.wells()[0].volume_in / pores;
    if (cut >= 0.05) return in_before + (in - in_before) * (0.05 - cut_before) / (cut - cut_before);
    cut_before = cut, in_before = in;
  }
  return 0;
}

TEST(Flow, FiveSpotBreakthroughConverges) {
  if (size_of(MPI_COMM_WORLD) > 1) GTEST_SKIP() << "one rank says it all";
  const double coarse = breakthrough(4), middle = breakthrough(6), fine = breakthrough(8);
  std::printf("breakthrough at %.4f, %.4f, %.4f pore volumes\n", coarse, middle, fine);
  io::test::record("level4", coarse);
  io::test::record("level6", middle);
  io::test::record("level8", fine);
  EXPECT_GT(fine, 0);
  // Two halvings of the cells' sides each: the error of first order falls to a quarter.
  EXPECT_LT(std::abs(fine - middle), 0.5 * std::abs(middle - coarse));
}

// Water and oil in place change by what wells let in and out; the mesh follows the front, columns change
// ranks, and nothing is lost.
TEST(Flow, KeepsMassThroughAdaptionAndMigration) {
  spe10::Setup setup = five_spot(7);
  setup.rock = rough_rock();
  setup.coarsest = 2, setup.finest = 6;
  setup.criterion.refine_p = 1e9, setup.criterion.coarsen_p = 1e8;
  setup.criterion.refine_s = 0.05, setup.criterion.coarsen_s = 0.02;
  setup.criterion.around_wells = 1;
  setup.solver.tolerance = 1e-10;
  Simulator sim(setup);
  sim.start(MPI_COMM_WORLD);
  const double pores = sum(sim.pore_volume());
  double water = sum(sim.water_volume()), injected = 0;
  const auto water_in = [&] { return sim.wells()[0].water_in + sim.wells()[1].water_in; };
  bool adapted = false;
  std::size_t fewest = 1000000, most = 0;
  for (int n = 0; n < 20; ++n) {
    sim.step(1e9);
    const double now = sum(sim.water_volume());
    EXPECT_LE(std::abs(now - water - (water_in() - injected)), 1e-12 * pores) << "step " << n;
    // Incompressible: as much comes in as goes out, to the solver's tolerance.
    const double net = std::abs(sim.wells()[0].volume_in + sim.wells()[1].volume_in);
    EXPECT_LE(net, 10 * setup.solver.tolerance * sim.wells()[0].volume_in) << "step " << n;
    injected = water_in(), water = now;

    adapted = sim.adapt() || adapted;
    EXPECT_LE(std::abs(sum(sim.water_volume()) - water), 1e-12 * pores) << "adaption " << n;
    // As a resize moves: shares of very different size, now and then none at all.
    const int ranks = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
    sim.release();
    sim.move(MPI_COMM_WORLD, ranks > 1 && (n + rank) % 3 == 0 ? 0 : 1 + rank);
    sim.accept();
    sim.rebuild(MPI_COMM_WORLD);
    const double after = sum(sim.water_volume());
    EXPECT_LE(std::abs(after - water), 1e-12 * pores) << "migration " << n;
    water = after;
    const auto columns = static_cast<std::size_t>(sum(static_cast<double>(sim.columns().own())));
    fewest = std::min(fewest, columns), most = std::max(most, columns);
    EXPECT_NEAR(sum(sim.pore_volume()), pores, 1e-12 * pores);
    double low = 1, high = 0;
    for (std::size_t k = 0; k < sim.columns().own() * sim.columns().nz(); ++k)
      low = std::min(low, sim.columns().s[k]), high = std::max(high, sim.columns().s[k]);
    EXPECT_GE(-largest(-low), 0);
    EXPECT_LE(largest(high), 1);
  }
  EXPECT_TRUE(adapted);
  EXPECT_GT(most, fewest) << "the mesh never changed its size";
}

// A closed box of compressible rock, water and oil that one producer empties, through adaption and migration:
// what comes to the surface is what the pores lost, of each liquid.
TEST(Flow, DepletionKeepsMassAtTheSurface) {
  spe10::Setup setup = five_spot(5);
  setup.deck.fluid = Fluid{};
  setup.deck.fluid.c_w = 2e-5, setup.deck.fluid.c_o = 6e-5, setup.deck.fluid.c_rock = 1e-5;
  setup.deck.datum_pressure = 6000;
  setup.deck.wells = {{"P", 8, 8}};
  setup.deck.wells[0].bhp = 3000;
  setup.wells = {setup.wells[1]};
  setup.rock = rough_rock();
  setup.initial_saturation = 0.4;
  setup.coarsest = 2, setup.finest = 5;
  setup.criterion.around_wells = 1;
  setup.solver.tolerance = 1e-8;
  Simulator sim(setup);
  sim.start(MPI_COMM_WORLD);
  const Fluid& fluid = setup.deck.fluid;
  const auto water = [&] { return sum(sim.water_volume()) / fluid.b_w / kFt3PerBbl; };
  const auto oil = [&] { return sum(sim.oil_volume()) / fluid.b_o / kFt3PerBbl; };
  const double water_start = water(), oil_start = oil();
  EXPECT_NEAR(oil_start / (oil_start + water_start * fluid.b_w / fluid.b_o), 0.6, 0.01);
  bool adapted = false;
  double excess = 0;
  for (int n = 0; n < 30; ++n) {
    sim.step(1e9);
    adapted = sim.adapt() || adapted;
    sim.release();
    sim.move(MPI_COMM_WORLD, 1 + (n + rank_of(MPI_COMM_WORLD)) % 3);
    sim.accept();
    sim.rebuild(MPI_COMM_WORLD);
  }
  EXPECT_TRUE(adapted);
  const WellState& well = sim.wells()[0];
  ASSERT_GT(well.oil_total, 0.03 * oil_start) << "nothing was lifted";
  ASSERT_GT(well.water_total, 0.001 * water_start);
  const double tolerance = 10 * setup.solver.tolerance;
  EXPECT_NEAR(well.oil_total, oil_start - oil(), tolerance * well.oil_total) << "STB";
  EXPECT_NEAR(well.water_total, water_start - water(), tolerance * well.water_total) << "STB";
  for (const double e : sim.columns().excess) excess = std::max(excess, std::abs(e));
  if (rank_of(MPI_COMM_WORLD) == 0)
    std::printf("lifted %.3f of the oil, excess up to %.2e\n", well.oil_total / oil_start, excess);
  EXPECT_LE(largest(excess), 1e-4) << "what does not fill the pores, or is more, is driven out";
}

// A producer is no source of water: what it takes in where the reservoir's pressure is below its own is what
// its block holds, here oil over water that cannot flow.
TEST(Flow, ProducersThatTakeLiquidInInjectNoWater) {
  spe10::Setup setup = five_spot(4);
  setup.deck.datum_pressure = 6000;
  setup.deck.wells = {{"P1", 1, 1}, {"P2", 8, 8}};
  setup.deck.wells[0].bhp = 4000, setup.deck.wells[1].bhp = 7000;
  Simulator sim(setup);
  sim.start(MPI_COMM_WORLD);
  const double water = sum(sim.water_volume()), pores = sum(sim.pore_volume());
  for (int n = 0; n < 5; ++n) sim.step(1e9);
  ASSERT_GT(sim.wells()[1].volume_in, 1) << "nothing flowed from one well to the other";
  for (int w = 0; w < 2; ++w) EXPECT_EQ(sim.wells()[static_cast<std::size_t>(w)].water_in, 0) << "well " << w;
  EXPECT_LE(std::abs(sum(sim.water_volume()) - water), 1e-12 * pores);
}

// The injector takes its rate while its pressure allows it, and its limit otherwise.
TEST(Flow, InjectorKeepsItsPressureLimit) {
  spe10::Setup setup = five_spot(6);
  setup.solver.tolerance = 1e-10;
  Simulator free(setup);
  free.start(MPI_COMM_WORLD);
  free.step(1);
  EXPECT_TRUE(free.wells()[0].by_rate);
  EXPECT_NEAR(-free.wells()[0].water_rate, 300, 1e-6);
  const double needed = free.wells()[0].bhp;
  ASSERT_GT(needed, 4010);
  setup.deck.wells[0].bhp = 0.5 * (4000 + needed);
  Simulator limited(setup);
  limited.start(MPI_COMM_WORLD);
  limited.step(1);
  EXPECT_FALSE(limited.wells()[0].by_rate);
  EXPECT_EQ(limited.wells()[0].bhp, setup.deck.wells[0].bhp);
  EXPECT_LT(-limited.wells()[0].water_rate, 290);
  EXPECT_GT(-limited.wells()[0].water_rate, 10);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Shallow water on the distributed adaptive mesh.
//
//   swe::Solver s(comm, {.domain = {2, 1}, .frame = ..., .coarsest = 8, .finest = 16}, bed, surface);
//   while (s.time() < end) {
//     s.step(end - s.time());
//     if (s.steps() % 10 == 0) s.adapt();
//   }
//
// Cell states do not depend on the number of ranks, nor on how and when cells moved between ranks: every bit
// is the same. All functions marked collective must be called by all ranks of the communicator.
#pragma once
#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/mesh/mesh.hpp"
#include "apps/tsunami/solver/borders.hpp"
#include "apps/tsunami/solver/cell_average.hpp"
#include "apps/tsunami/solver/kernel.hpp"
#include "apps/tsunami/solver/metric.hpp"
#include "apps/tsunami/solver/reconstruction.hpp"
#include "apps/tsunami/solver/sections.hpp"

namespace swe {

// Cells inside are refined to `level` while from <= time < until.
struct Region {
  double west, east, south, north;
  int level;
  double until = 1e300, from = 0;  // s
};

// Layers of cells that a wave passes in so many steps: at most .2 legs of a cell in one, and a layer of
// triangles is half a leg wide at least.
int buffer_for(int steps);

struct Criterion {
  double refine_amplitude = 0.05;   // m: |eta - sea level| above which a wet cell is refined
  double coarsen_amplitude = 0.02;  // m: below which it may be coarsened
  double refine_speed = 1e300;      // m / s, likewise
  double coarsen_speed = 1e300;
  // m / s: a wet cell is refined where the change of its depth in the last step, times its area over that of
  // the finest cell, is above (the thesis' (5.4)), and may be coarsened below a fourth of it.
  double refine_flux = 1e300;
  // Layers of cells around refined ones that are refined too: buffer_for() the steps between two adaptions.
  int buffer = 2;
  // Level that all of these refine to, and the motion of the floor; -1: the mesh's finest. Regions may ask
  // for finer cells.
  int finest = -1;
  std::vector<Region> regions = {};
};

// How the sea floor moves while the computation runs. Outside of the rectangle it never does.
struct Motion {
  std::function<double(double x, double y, double t)> lift;  // m above `still`, at time t (s); empty: none
  double begin = 0, end = 0;                                 // s: constant before, and from `end` on
  double west = 0, east = 0, south = 0, north = 0;
  // Least distance of the points that have told the lift, in x or y, everywhere; 0: it is no raster's.
  double spacing = 0;
};

// Bed elevation, m, and its roughness. What is given for a place depends on nothing but the place, and on
// time where it moves.
struct SeaFloor {
  template <class F>
    requires std::is_invocable_r_v<double, F, double, double>
  SeaFloor(F elevation) : still(std::move(elevation)) {}  // NOLINT: a floor that never moves
  SeaFloor(Function elevation, Motion moves) : still(std::move(elevation)), motion(std::move(moves)) {}
  Function still;
  Motion motion;
  Function manning;  // s / m^(1/3), asked for at a cell's centroid; empty: Physics::manning everywhere
};

struct Parameters {
  mesh::Domain domain;
  Frame frame;
  int coarsest = 6, finest = 12;  // levels; two levels halve the cell size
  // Cells in which some of the bed lies below sea level and some above are refined to this level at the
  // start, and then neither side of the shore is joined with the other. -1: `finest`.
  int coast = -1;
  double sea_level = 0;  // m: rest level, for the criterion and for dry land
  Physics physics = {};
  Borders borders{};
  Criterion criterion = {};
};

struct Cell {
  double eta, hu, hv, b;
};

// One cell on the wire: 40 bytes.
struct Element {
  mesh::Leaf leaf;
  Cell cell;
};

// What the cell around a gauge had: m, m, m/s east and north (0 in less than dry_tolerance); its level.
struct GaugeSample {
  double time, eta, depth, u, v, level;  // time: s
  friend bool operator==(const GaugeSample&, const GaugeSample&) = default;
};

// A cell to be refined. What stands in for the slopes inside: how much more its first child has of eta, hu
// and hv than itself, and how much more the first child of that child has than that.
struct Sloped {
  Cell cell;
  std::array<double, 3> first = {}, first_of_first = {};
};

struct GaugeSeries {
  double x, y;
  std::vector<GaugeSample> samples;  // the same on every rank
};

// A state that no sea can have. All ranks throw it together, with the same words: time, cell, place.
struct StateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Stored: of what each cell holds from one step to the next, double, or float, which takes 40 bytes of a cell
// less. All is computed in double. Rounded to float are a surface near 0 m, by some 1e-9 of a metre, and
// a bed at -4000 m, by .0002 m; water at rest stays at rest, and mass is kept but for that rounding.
template <class Stored>
class BasicSolver {
 public:
  // Starts from bed elevation and initial surface (water stands where the surface is above the bed), refined
  // by the criterion until nothing changes. Collective; comm must outlive its use here.
  BasicSolver(MPI_Comm comm, const Parameters& setup, SeaFloor bed, Function surface);
  // Empty: for a rank that joins a running computation; fill elements(), set_clock(), then rebuild(). Local.
  BasicSolver(const Parameters& setup, SeaFloor bed);

  // One time step of at most max_dt (s), by Euler's method at order 1 and Heun's at order 2; returns its
  // length. A step of order 2 that would leave a depth below 0 is taken again, of half the length. Throws
  // StateError if a state is infinite or undefined or a depth below 0. Collective.
  double step(double max_dt);
  // Refines and coarsens by the criterion. New cells get the mean of the true bed, and their water stands as
  // high as their parent's, as in GeoClaw (Berger, George, LeVeque, Mandli, Adv. Water Resour. 34 (2011)
  // 1195, section 6), at order 2 with the slope that it has there: momentum is kept, rest is kept, and volume
  // but for cells across the shore, whose water added() counts. Returns whether any cell changed. Collective.
  bool adapt();
  // m^3 of water that the last adapt() added, of all ranks; the same on every rank but for the order of a
  // sum. Local.
  double added() const { return added_; }
  // m^3 of water that has come in through borders and sponges since the start, less what has left, of all
  // ranks; the same on every rank but for the order of a sum. A rank that joins is told (set_came_in). Local.
  double came_in() const { return came_in_; }
  void set_came_in(double volume) { came_in_ = volume; }
  // s of the last adapt() that bisections and joins took to be made conforming. Local.
  double conformity_seconds() const { return conformity_seconds_; }
  // Moves cells so that every rank holds its share (capacity 0: none), when the fullest rank has more than
  // (1 + tolerance) times that. Returns whether cells moved. Collective.
  bool balance(double capacity = 1, double tolerance = 0.03);

  // All own cells, taken out of the mesh in curve order; they may be replaced by what any redistribution
  // gives, as long as it never separates siblings (cut_positions()). rebuild() puts them back. Local.
  std::vector<Element>& elements();
  std::vector<std::uint8_t> cut_positions() const { return mesh::cut_positions(mesh_.leaves()); }
  // Collective on comm, which becomes the solver's communicator.
  void rebuild(MPI_Comm comm);

  double time() const { return time_; }
  std::int64_t steps() const { return steps_; }
  void set_clock(double time, std::int64_t steps) { time_ = time, steps_ = steps; }
  // Cells updated by this rank so far (work units).
  std::int64_t updates() const { return updates_; }
  std::size_t cells() const { return mesh_.cells(); }

  // The state at the points is recorded at the start of every step. Points outside of the domain are an
  // error.
  void add_gauge(double x, double y);
  std::vector<GaugeSeries>& gauges() { return gauges_; }
  // Records the present state too (at the end of a run). Throws as step() does. Collective.
  void sample_gauges();

  // How many threads of this rank compute the steps from now on; the same bits for any number. Local.
  void set_threads(int count);
  int threads() const { return threads_; }
  // Of memory that grows with the cells, on this rank: all that is kept between two steps.
  std::size_t bytes() const;

  const mesh::Mesh& mesh() const { return mesh_; }
  const Metric& metric() const { return metric_; }
  const Parameters& setup() const { return setup_; }
  // May change between adaptions, on every rank alike.
  Criterion& criterion() { return setup_.criterion; }
  Cell cell(std::size_t i) const { return {eta_[i], hu_[i], hv_[i], b_[i]}; }
  void set_cell(std::size_t i, const Cell& c) { put(c, i, eta_, hu_, hv_, b_); }
  double area(std::size_t i) const;
  // Volume of water on this rank, m^3, by compensated summation. Local.
  double volume() const;

 private:
  Cell initial_cell(mesh::Leaf leaf, const Function& surface) const;
  std::pair<Sloped, Sloped> refine(mesh::Leaf leaf, const mesh::Triangle& t, const Sloped& parent,
                                   double& added) const;
  bool has_shore(mesh::Leaf leaf, const mesh::Triangle& t) const;
  void mark_shore(std::vector<std::int8_t>& marks) const;
  bool moves(const mesh::Triangle& t) const;
  void move_bed();
  Cell coarsen(mesh::Leaf parent, const mesh::Triangle& t, const Cell& first, const Cell& second) const;
  std::vector<std::int8_t> marks();
  void locate_gauges();
  void append_gauges(std::vector<double>& values) const;
  void keep_gauges(const double* values);
  void find_areas();
  void connect_anew();
  void connect();
  void connect_faces();
  void find_kind(std::size_t cell);
  void find_border_kinds();
  void find_kinds();
  void find_kinds(const mesh::Transfer& t);
  // Of the state in the fields, of that time (s).
  double find_gains(double time);
  double section_gains(bool waiting);
  void find_outer_faces();
  bool advance(double dt, Stage stage);
  bool step_order1(double dt);
  bool step_order2(double& dt);
  double inflow() const;
  bool settle(bool sound, double came_in);
  double apply_forces(double dt);
  void turn(double dt);
  void fill_halo(double time);
  Sloped sloped(std::size_t i) const;
  Connections connections() const;
  using Values = std::vector<Stored>;
  static void put(const Cell& c, std::size_t i, Values& eta, Values& hu, Values& hv, Values& b) {
    eta[i] = static_cast<Stored>(c.eta), b[i] = static_cast<Stored>(c.b);
    hu[i] = static_cast<Stored>(c.hu), hv[i] = static_cast<Stored>(c.hv);
  }
  Fields<Stored> fields() { return {eta_.data(), hu_.data(), hv_.data(), b_.data()}; }
  Gains<Stored> gains() { return {gains_[0].data(), gains_[1].data(), gains_[2].data()}; }
  FaceStates outer_faces();
  void fill_exterior(double time);
  bool knows_friction() const;
  bool is_shallow(std::size_t cell) const;
  void add_if_rough(std::size_t cell, mesh::LeafWalk& walk);
  void find_rough_cells();
  void find_rough_cells(const mesh::Transfer& t);
  void expect_waves(std::vector<std::int8_t>& marks) const;
  using RefineCell = std::function<std::pair<Sloped, Sloped>(mesh::Leaf, const Sloped&)>;
  using CoarsenCell = std::function<Cell(mesh::Leaf, const Cell&, const Cell&)>;
  void transfer(const mesh::Transfer& t, const RefineCell& refine, const CoarsenCell& coarsen);
  double average(const Function& f, mesh::Leaf leaf) const;
  double bed_of(mesh::Leaf leaf, const mesh::Triangle& t) const;
  [[noreturn]] void refuse_state() const;

  Parameters setup_;
  SeaFloor bed_;
  Metric metric_;
  Sponge sponge_;
  mesh::Mesh mesh_;
  Values eta_, hu_, hv_, b_;  // own, halo, exterior cells
  Values spare_[3];           // of own cells, the state before the step
  Values gains_[3];
  std::vector<double> inverse_area_;
  Sections sections_;
  std::vector<Scratch> scratch_;     // per thread
  std::vector<double> border_mass_;  // per border
  std::vector<std::uint8_t> kinds_;  // order 2: of own cells
  // Order 2: states at faces of halo cells, of what is behind borders, and of own cells for other ranks.
  std::vector<double> outer_[5];
  std::vector<std::uint8_t> their_faces_;  // per halo slot, the halo cell's local edge
  std::vector<FaceAt> outer_faces_;        // which of them this rank finds
  std::vector<std::int32_t> bisected_;     // in an adaption, with their slopes
  std::vector<Slopes> slopes_;
  std::vector<std::int32_t> halo_receive_, face_send_, face_receive_;  // per halo slot
  std::vector<std::int32_t> rough_;                                    // shallow cells, apply_friction()'s
  std::vector<float> roughness_;  // and n of each, where the floor has its own
  std::vector<Element> elements_;
  std::vector<GaugeSeries> gauges_;
  std::vector<mesh::Leaf> gauge_leaves_;   // on the finest level
  std::vector<std::int32_t> gauge_cells_;  // -1: another rank's
  std::vector<double> reduction_;
  double added_ = 0, came_in_ = 0, conformity_seconds_ = 0;
  double time_ = 0;
  std::int64_t steps_ = 0, updates_ = 0;
  int threads_ = 1;
  bool fluxes_known_ = false;  // of the last step, on the present mesh
  bool sound_ = true;          // of this rank's cells after the last step
};

using Solver = BasicSolver<double>;
using SingleSolver = BasicSolver<float>;

}  // namespace swe

// SPDX-License-Identifier: Apache-2.0
// Two-phase flow in a reservoir: implicit pressure, explicit saturation (IMPES), on the distributed adaptive
// mesh.
//
//   Simulator sim(setup);
//   sim.start(comm);
//   while (sim.clock().days < end) { sim.step(end - sim.clock().days); sim.adapt(); }
//
// Results depend on the number of ranks, and on how columns moved between them, only as far as the pressure
// solver's tolerance lets them. Functions marked collective must be called by all ranks together.
#pragma once
#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/spe10/model/deck.hpp"
#include "apps/spe10/solver/columns.hpp"
#include "apps/spe10/solver/pressure.hpp"
#include "apps/spe10/solver/transport.hpp"
#include "apps/spe10/solver/wells.hpp"

namespace spe10 {

// Jumps across an edge, in any layer, above which both columns are refined, and below which they may be
// joined.
struct Criterion {
  double refine_s = 0.1, coarsen_s = 0.03;
  double refine_p = 80, coarsen_p = 30;  // psi
  int buffer = 1;                        // columns around refined ones that are refined too
  int around_wells = 3;                  // columns around wells that are always of the finest level
};

struct TimeControl {
  double first = 0.01, longest = 10;  // days between pressure solves
  // Wanted error of one step: root mean square of the relative change of the mobility, weighted by the flow
  // through, and of the change of pressure over the wells' range of pressures.
  double mobility = 0.1, pressure = 0.03;
};

struct Setup {
  Deck deck;
  std::vector<WellPoint> wells;  // of deck.wells
  EquivalentRadii radii;         // around them, as far as they are known
  Frame frame;
  mesh::Domain domain;
  RockOfColumn rock;
  Borders borders;
  int coarsest = 2, finest = 4;    // mesh levels; two levels halve the cells
  double initial_saturation = -1;  // negative: residual
  bool gravity = true;
  Criterion criterion;
  TimeControl time;
  SolverOptions solver;
};

struct WellState {
  double bhp = 0;  // psi
  bool by_rate = false;
  double water_rate = 0, oil_rate = 0;    // STB/day out of the reservoir in the last step (negative: in)
  double water_total = 0, oil_total = 0;  // STB
  double volume_in = 0;                   // ft3 at reference pressure, water and oil, so far
  double water_in = 0;                    // of it water
};

// What all ranks hold alike and a joining rank receives.
struct Clock {
  double days = 0;
  std::int64_t steps = 0, substeps = 0;
  std::int64_t refused = 0;  // steps that were taken back and repeated shorter
  double next = 0;           // wanted length of the next step
  double mean_pressure = 0;  // psi, weighted by pore volume
  double border_water = 0;   // ft3 so far
  int started = 0;
};

struct StepReport {
  double days = 0;
  int refused = 0;            // attempts that were taken back; what they cost is counted below
  double mobility_error = 0;  // in units of what is wanted, of the attempt that stands
  std::int64_t substeps = 0;
  int pressure_solves = 0, iterations = 0;
  bool setup = false;
  double seconds_pressure = 0, seconds_transport = 0;
  SolveReport solve;
};

class Simulator {
 public:
  explicit Simulator(Setup setup);

  // Initial mesh and state. Collective; comm must outlive its use here.
  void start(MPI_Comm comm);

  // One pressure solve and the transport with its fluxes, over at most max_days. A step that changed
  // mobilities by more than twice what is wanted, or did not converge, is taken back and repeated shorter.
  // Collective. Throws NotConverged where a step of a second does not converge either.
  StepReport step(double max_days);
  // Refines and coarsens. Returns whether any column changed. Collective.
  bool adapt();
  // Moves columns so that ranks hold equal shares if the fullest has more than (1 + tolerance) of its own.
  bool balance(double tolerance);

  // Malleability: release() frees what belongs to the old world; move() puts this rank's new part aside
  // (collective on everybody; capacity 0 leaves) and returns the bytes sent, accept() makes it current;
  // rebuild() connects the columns in the new world.
  void release() { pressure_.reset(); }
  std::int64_t move(MPI_Comm everybody, double capacity);
  void accept();
  // For checkpoints: this rank's columns as bytes, and what some ranks have saved, in their order, put aside
  // in equal shares (collective on comm; accept() and rebuild() follow). load() throws std::runtime_error if
  // it is of another number of layers.
  std::vector<std::byte> save() const;
  void load(MPI_Comm comm, const std::vector<std::span<const std::byte>>& parts);
  void rebuild(MPI_Comm comm);

  Clock& clock() { return clock_; }
  std::vector<WellState>& wells() { return wells_; }
  const Setup& setup() const { return setup_; }
  const Columns& columns() const { return columns_; }
  Columns& columns() { return columns_; }
  const Pressure* pressure() const { return pressure_.get(); }
  // Sums over this rank: pore volume, water and oil in place, all in ft3 at reference pressure.
  double pore_volume() const;
  double water_volume() const;
  double oil_volume() const;

 private:
  void connect();
  void set_initial_state();
  void refine_start();
  void fill_coefficients(double days);
  SolveReport solve_pressure(StepReport& report);
  void well_flows();
  bool switch_controls(std::vector<char>& switched);
  void book(const TransportReport& moved, double days);
  struct Error {
    double mobility = 0, pressure = 0;  // in units of what is wanted
  };
  // What a step changes.
  struct State {
    std::vector<double> s, p, excess;
    std::vector<WellState> wells;
  };
  State keep() const;
  void take_back(const State& before);
  TransportReport attempt(StepReport& report, const State& before);
  Error error(const State& before) const;
  double next_length(double days, const Error& error) const;
  void keep_oil(const State& before, double days);
  std::vector<double> volumes_in() const;
  double sum(double mine) const;
  std::vector<std::int8_t> marks();
  void transfer(const mesh::Transfer& t);
  void join(double a, const double* first, double b, const double* second, double* joined) const;
  std::vector<double> state() const;
  std::int64_t put_aside(MPI_Comm comm, std::span<const mesh::Leaf> leaves, std::span<const double> state,
                         double capacity);

  Setup setup_;
  Columns columns_;
  WellModel well_model_;
  Transport transport_;
  std::unique_ptr<Pressure> pressure_;  // of the present mesh
  std::vector<Completion> completions_;
  std::vector<WellControl> controls_;
  std::vector<double> flow_;  // per completion
  std::vector<double> mobility_, weight_, storage_, excess_;
  Clock clock_;
  std::vector<WellState> wells_;
  std::vector<mesh::Leaf> moved_leaves_;
  std::vector<double> moved_state_;
};

}  // namespace spe10

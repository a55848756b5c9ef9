// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "apps/mesh/mpi_check.hpp"

namespace spe10 {
namespace {

constexpr double kRefused = 2;  // times the change of mobilities that is wanted

}  // namespace

Simulator::Simulator(Setup setup)
    : setup_(std::move(setup)),
      columns_(setup_.domain, setup_.frame, setup_.rock),
      well_model_(setup_.deck, setup_.wells, std::move(setup_.radii)),
      transport_(columns_, setup_.deck.fluid, setup_.borders),
      wells_(setup_.deck.wells.size()) {
  if (setup_.initial_saturation < 0) setup_.initial_saturation = setup_.deck.fluid.swc;
  if (!setup_.gravity) setup_.deck.fluid.density_w = setup_.deck.fluid.density_o = 0;
  for (std::size_t w = 0; w < wells_.size(); ++w) {
    wells_[w].by_rate = setup_.deck.wells[w].rate > 0;
    wells_[w].bhp = wells_[w].by_rate ? setup_.deck.datum_pressure : setup_.deck.wells[w].bhp;
  }
}

double Simulator::sum(double mine) const {
  double all = 0;
  elastic::check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, columns_.mesh.comm()), "adding up");
  return all;
}

void Simulator::start(MPI_Comm comm) {
  columns_.mesh = mesh::Mesh(comm, setup_.domain, setup_.coarsest);
  connect();
  set_initial_state();
  refine_start();
  clock_.started = 1;
  clock_.next = setup_.time.first;
}

// After the mesh changed.
void Simulator::connect() {
  columns_.connect();
  completions_ = well_model_.completions(columns_);
  pressure_.reset();
}

// Hydrostatic oil above residual water.
void Simulator::set_initial_state() {
  const Deck& deck = setup_.deck;
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const double depth = columns_.frame.depth(static_cast<int>(z));
      columns_.s[columns_.at(i, z)] = setup_.initial_saturation;
      columns_.excess[columns_.at(i, z)] = 0;
      columns_.p[columns_.at(i, z)] =
          deck.datum_pressure + deck.fluid.density_o * kPsiPerFt * (depth - deck.datum);
    }
}

// The first pressure of a coarse mesh tells where to refine; then the state begins anew.
void Simulator::refine_start() {
  for (int round = setup_.coarsest; round < setup_.finest; ++round) {
    StepReport report;
    fill_coefficients(setup_.time.first);
    solve_pressure(report);
    const bool changed = adapt();
    set_initial_state();
    if (!changed) break;
  }
}

void Simulator::fill_coefficients(double days) {
  const Fluid& fluid = setup_.deck.fluid;
  const std::size_t nz = columns_.nz(), prisms = columns_.own() * nz;
  mobility_.resize(prisms), weight_.resize(prisms), storage_.resize(prisms), excess_.resize(prisms);
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < nz; ++z) {
      const std::size_t prism = columns_.at(i, z);
      const double s = columns_.s[prism], f = fluid.fractional_flow(s);
      mobility_[prism] = fluid.total_mobility(s);
      weight_[prism] = (f * fluid.density_w + (1 - f) * fluid.density_o) * kPsiPerFt;
      // With inactive prisms there may be parts without a well: a little storage says their pressure.
      const double c = std::max(fluid.compressibility(s), columns_.all_active ? 0 : 1e-12);
      // Pores as reservoir volume into volume at reference, which is what flows.
      const double p = columns_.p[prism], room = columns_.pore_volume(i, z) *
                                                 (s * fluid.water_held(p) + (1 - s) * fluid.oil_held(p));
      storage_[prism] = room * c / days;
      excess_[prism] = room * columns_.excess[prism] / days;
    }
}

SolveReport Simulator::solve_pressure(StepReport& report) {
  const double begin = MPI_Wtime();
  if (!pressure_)
    pressure_ =
        std::make_unique<Pressure>(columns_, setup_.borders, static_cast<int>(wells_.size()), setup_.solver);
  const std::vector<double> old_p(columns_.own_p().begin(), columns_.own_p().end());
  std::vector<char> switched(wells_.size(), 0);
  SolveReport solve;
  do {
    std::ranges::copy(old_p, columns_.p.begin());
    controls_.clear();
    for (std::size_t w = 0; w < wells_.size(); ++w) {
      const double rate = setup_.deck.wells[w].rate * kFt3PerBbl * setup_.deck.fluid.b_w;
      controls_.push_back({wells_[w].bhp, rate, wells_[w].by_rate});
    }
    solve =
        pressure_->solve({mobility_, weight_, storage_, excess_}, completions_, controls_, columns_.own_p());
    report.iterations += solve.iterations, ++report.pressure_solves;
    report.setup = report.setup || solve.setup;
    well_flows();
  } while (switch_controls(switched));
  for (std::size_t w = 0; w < wells_.size(); ++w) wells_[w].bhp = controls_[w].bhp;
  report.seconds_pressure += MPI_Wtime() - begin;
  return solve;
}

void Simulator::well_flows() {
  flow_.clear();
  for (const Completion& c : completions_) {
    const std::size_t prism = columns_.at(static_cast<std::size_t>(c.column), static_cast<std::size_t>(c.z));
    const double bhp = controls_[static_cast<std::size_t>(c.well)].bhp;
    flow_.push_back(kDarcy * c.index * mobility_[prism] * (bhp + c.head - columns_.p[prism]));
  }
}

// An injector goes over to its pressure limit when the rate would need more, and back when the limit gives
// more than the rate; once in a step.
bool Simulator::switch_controls(std::vector<char>& switched) {
  std::vector<double> total(wells_.size(), 0);
  for (std::size_t k = 0; k < flow_.size(); ++k)
    total[static_cast<std::size_t>(completions_[k].well)] += flow_[k];
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, total.data(), static_cast<int>(total.size()), MPI_DOUBLE,
                                   MPI_SUM, columns_.mesh.comm()),
                     "adding up the wells");
  bool again = false;
  for (std::size_t w = 0; w < wells_.size(); ++w) {
    const Well& well = setup_.deck.wells[w];
    if (well.rate <= 0 || switched[w]) continue;
    const bool too_high = wells_[w].by_rate && controls_[w].bhp > well.bhp;
    const bool too_much = !wells_[w].by_rate && total[w] > controls_[w].rate;
    if (!too_high && !too_much) continue;
    wells_[w].by_rate = too_much;
    if (too_high) wells_[w].bhp = well.bhp;
    switched[w] = 1;
    again = true;
  }
  return again;
}

Simulator::State Simulator::keep() const {
  const auto own = static_cast<std::ptrdiff_t>(columns_.own() * columns_.nz());
  return {{columns_.s.begin(), columns_.s.begin() + own},
          {columns_.p.begin(), columns_.p.begin() + own},
          columns_.excess,
          wells_};
}

void Simulator::take_back(const State& before) {
  std::ranges::copy(before.s, columns_.s.begin());
  std::ranges::copy(before.p, columns_.p.begin());
  columns_.excess = before.excess;
  wells_ = before.wells;
}

TransportReport Simulator::attempt(StepReport& report, const State& before) {
  fill_coefficients(report.days);
  report.solve = solve_pressure(report);
  const double begin = MPI_Wtime();
  std::vector<double> change(before.p.size());
  for (std::size_t k = 0; k < change.size(); ++k) change[k] = columns_.p[k] - before.p[k];
  TransportReport moved = transport_.advance(
      {pressure_->edge_flux(), pressure_->vertical_flux(), change, completions_, flow_, setup_.deck.wells},
      report.days);
  report.seconds_transport += MPI_Wtime() - begin;
  report.substeps += moved.substeps;
  return moved;
}

// Into each own prism, of both liquids, ft3/day.
std::vector<double> Simulator::volumes_in() const {
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own();
  std::vector<double> in(own * nz, 0);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto l = static_cast<std::size_t>(edges.left[e]), r = static_cast<std::size_t>(edges.right[e]);
    for (std::size_t z = 0; z < nz; ++z) {
      const double u = pressure_->edge_flux()[e * nz + z];
      if (l < own) in[l * nz + z] -= u;
      if (r < own) in[r * nz + z] += u;
    }
  }
  for (std::size_t i = 0; i < own; ++i)
    for (std::size_t z = 0; z < nz; ++z) {
      const std::size_t face = i * (nz + 1) + z;
      in[i * nz + z] += pressure_->vertical_flux()[face] - pressure_->vertical_flux()[face + 1];
    }
  for (std::size_t k = 0; k < completions_.size(); ++k)
    in[columns_.at(static_cast<std::size_t>(completions_[k].column),
                   static_cast<std::size_t>(completions_[k].z))] += flow_[k];
  return in;
}

// Oil in place is what was there and what came in; where that does not just fill the pores is an excess.
void Simulator::keep_oil(const State& before, double days) {
  const Fluid& fluid = setup_.deck.fluid;
  const std::vector<double> in = volumes_in();
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t k = columns_.at(i, z);
      if (columns_.active[k] == 0) continue;
      const double s = columns_.s[k], p = columns_.p[k], old_s = before.s[k], old_p = before.p[k];
      const double water_in = s * fluid.water_held(p) - old_s * fluid.water_held(old_p);
      const double oil = (1 - old_s + before.excess[k]) * fluid.oil_held(old_p) +
                         days * in[k] / columns_.pore_volume(i, z) - water_in;
      columns_.excess[k] = oil / fluid.oil_held(p) - (1 - s);
    }
}

StepReport Simulator::step(double max_days) {
  constexpr double shortest = 1e-5;  // days; about a second
  const State before = keep();
  StepReport report;
  for (;;) {
    report.days = std::min(max_days, clock_.next);
    double shorter = 0.25;
    try {
      const TransportReport moved = attempt(report, before);
      keep_oil(before, report.days);
      const Error error = this->error(before);
      if (!std::isfinite(error.mobility) || !std::isfinite(error.pressure))  // on all ranks
        throw NotConverged("step: what it changes is not finite");
      report.mobility_error = error.mobility;
      if (error.mobility <= kRefused || report.days <= shortest) {
        book(moved, report.days);
        clock_.next = next_length(report.days, error);
        break;
      }
      shorter = std::clamp(0.9 / error.mobility, 0.1, 0.5);
    } catch (const NotConverged&) {  // on all ranks
      pressure_.reset();
      if (report.days <= shortest) throw;
    }
    take_back(before);
    clock_.next = shorter * report.days;
    ++report.refused;
  }
  clock_.days += report.days;
  ++clock_.steps;
  clock_.substeps += report.substeps;
  clock_.refused += report.refused;
  return report;
}

// Adds the step to wells and totals.
void Simulator::book(const TransportReport& moved, double days) {
  const std::size_t count = wells_.size();
  std::vector<double> sums = moved.water;
  sums.insert(sums.end(), moved.oil.begin(), moved.oil.end());
  double pores = 0, pressure = 0;
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      pores += columns_.pore_volume(i, z);
      pressure += columns_.pore_volume(i, z) * columns_.p[columns_.at(i, z)];
    }
  sums.insert(sums.end(), {moved.border_water, pores, pressure});
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE,
                                   MPI_SUM, columns_.mesh.comm()),
                     "adding up the step");
  const Fluid& fluid = setup_.deck.fluid;
  for (std::size_t w = 0; w < count; ++w) {
    WellState& well = wells_[w];
    const double water = sums[w], oil = sums[count + w];
    well.volume_in += water + oil, well.water_in += water;
    well.water_rate = -water / days / kFt3PerBbl / fluid.b_w;
    well.oil_rate = -oil / days / kFt3PerBbl / fluid.b_o;
    well.water_total += well.water_rate * days, well.oil_total += well.oil_rate * days;
  }
  clock_.border_water += sums[2 * count];
  clock_.mean_pressure = sums[2 * count + 2] / sums[2 * count + 1];
}

// What the errors are judged by lies in the cells, so that moving these to other ranks does not change the
// steps.
Simulator::Error Simulator::error(const State& before) const {
  const Fluid& fluid = setup_.deck.fluid;
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own();
  std::vector<double> through(own * nz, 0);
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (const std::int32_t cell : {edges.left[e], edges.right[e]})
      if (static_cast<std::size_t>(cell) < own)
        for (std::size_t z = 0; z < nz; ++z)
          through[columns_.at(static_cast<std::size_t>(cell), z)] +=
              std::abs(pressure_->edge_flux()[e * nz + z]);
  double sums[4] = {};
  for (std::size_t i = 0; i < own; ++i)
    for (std::size_t z = 0; z < nz; ++z) {
      const std::size_t k = columns_.at(i, z);
      const double change = std::log(fluid.total_mobility(columns_.s[k]) / mobility_[k]);
      sums[0] += through[k] * change * change, sums[1] += through[k];
      const double dp = columns_.p[k] - before.p[k], pores = columns_.pore_volume(i, z);
      sums[2] += pores * dp * dp, sums[3] += pores;
    }
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, columns_.mesh.comm()),
                     "estimating the error");
  double low = 1e300, high = -1e300;
  for (const WellState& w : wells_) low = std::min(low, w.bhp), high = std::max(high, w.bhp);
  const double range = high > low ? high - low : 1000;
  const double mobility = sums[1] > 0 ? std::sqrt(sums[0] / sums[1]) : 0,
               pressure = std::sqrt(sums[2] / sums[3]) / range;
  return {mobility / setup_.time.mobility, pressure / setup_.time.pressure};
}

// Both errors grow in proportion to the step.
double Simulator::next_length(double days, const Error& error) const {
  const double worst = std::max({error.mobility, error.pressure, 1e-6});
  const double wanted = std::clamp(0.9 * days / worst, 0.3 * clock_.next, 2 * clock_.next);
  return std::min(wanted, setup_.time.longest);
}

double Simulator::pore_volume() const {
  double volume = 0;
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) volume += columns_.pore_volume(i, z);
  return volume;
}

double Simulator::water_volume() const {
  double volume = 0;
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t k = columns_.at(i, z);
      volume += columns_.pore_volume(i, z) * columns_.s[k] * setup_.deck.fluid.water_held(columns_.p[k]);
    }
  return volume;
}

double Simulator::oil_volume() const {
  double volume = 0;
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (std::size_t z = 0; z < columns_.nz(); ++z) {
      const std::size_t k = columns_.at(i, z);
      volume += columns_.pore_volume(i, z) * (1 - columns_.s[k] + columns_.excess[k]) *
                setup_.deck.fluid.oil_held(columns_.p[k]);
    }
  return volume;
}

}  // namespace spe10

// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/solver.hpp"

#include <algorithm>
#include <cmath>
#include <elastic_mpi/sequence.hpp>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "apps/mesh/mpi_check.hpp"
#include "apps/mesh/tight.hpp"

namespace swe {
namespace {

constexpr std::size_t kGaugeValues = 5;  // of a sample, but for its time

Parameters checked(const Parameters& s) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("swe: " + what); };
  if (s.coarsest < 0 || s.coarsest > s.finest)
    refuse("coarsest level " + std::to_string(s.coarsest) + " is not in 0.." + std::to_string(s.finest));
  if (s.coast > s.finest)
    refuse("coast level " + std::to_string(s.coast) + " is finer than the finest, " +
           std::to_string(s.finest));
  if (s.criterion.finest > s.finest)
    refuse("the criterion's level " + std::to_string(s.criterion.finest) + " is finer than the finest, " +
           std::to_string(s.finest));
  if (!(s.physics.cfl > 0 && s.physics.cfl <= 0.58))
    refuse("a CFL number of " + std::to_string(s.physics.cfl) +
           " was asked for; above 0 and at most .58 keeps depths >= 0");
  if (s.physics.order != 1 && s.physics.order != 2)
    refuse("order " + std::to_string(s.physics.order) + " is not 1 or 2");
  if (!(s.physics.dry_tolerance > 0)) refuse("the dry tolerance must be above 0");
  if (!(s.physics.speed_limit >= 0)) refuse("the speed limit must be 0 (none) or above");
  if (!(s.criterion.coarsen_amplitude <= s.criterion.refine_amplitude))
    refuse("coarsen_amplitude must not exceed refine_amplitude");
  check_borders(s.borders);
  return s;
}

}  // namespace

template <class Stored>
BasicSolver<Stored>::BasicSolver(const Parameters& setup, SeaFloor bed)
    : setup_(checked(setup)),
      bed_(std::move(bed)),
      metric_(setup.frame, setup.domain, setup.finest),
      sponge_(setup.borders, metric_, setup.domain),
      mesh_(setup.domain, metric_.edge_classes()),
      scratch_(1) {}

template <class Stored>
BasicSolver<Stored>::BasicSolver(MPI_Comm comm, const Parameters& setup, SeaFloor bed, Function surface)
    : BasicSolver(setup, std::move(bed)) {
  mesh_ = mesh::Mesh(comm, setup.domain, setup.coarsest, metric_.edge_classes());
  connect_anew();
  for (std::size_t i = 0; i < cells(); ++i) set_cell(i, initial_cell(mesh_.leaves()[i], surface));
  connect();
  find_rough_cells();
  for (int round = setup.coarsest; round < setup.finest + 2; ++round) {
    std::vector<std::int8_t> wanted = marks();
    mark_shore(wanted);
    const auto t = mesh_.adapt(wanted);
    if (!t.changed) break;
    transfer(
        t,
        [&](mesh::Leaf leaf, const Sloped&) {
          return std::pair{Sloped{initial_cell(leaf.child(0), surface)},
                           Sloped{initial_cell(leaf.child(1), surface)}};
        },
        [&](mesh::Leaf parent, const Cell&, const Cell&) { return initial_cell(parent, surface); });
    balance();  // each time, or whoever has the source has all of its cells at once
  }
}

template <class Stored>
double BasicSolver<Stored>::average(const Function& f, mesh::Leaf leaf) const {
  return cell_average(f, metric_, setup_.finest, leaf, setup_.domain.triangle(leaf));
}

// Of the bed as it is now.
template <class Stored>
double BasicSolver<Stored>::bed_of(mesh::Leaf leaf, const mesh::Triangle& t) const {
  const Motion& m = bed_.motion;
  if (!m.lift || !moves(t)) return cell_average(bed_.still, metric_, setup_.finest, leaf, t);
  const auto moved = [&](double x, double y) {
    const bool inside = x >= m.west && x <= m.east && y >= m.south && y <= m.north;
    return bed_.still(x, y) + (inside ? m.lift(x, y, time_) : 0);
  };
  const auto* const still = bed_.still.target<Interpolated>();
  if (still == nullptr || m.spacing == 0) return cell_average(moved, metric_, setup_.finest, leaf, t);
  const Interpolated between{moved, [&](double west, double east, double south, double north) {
                               return std::min(m.spacing, still->spacing(west, east, south, north));
                             }};
  return cell_average(between, metric_, setup_.finest, leaf, t);
}

// Whether the moving rectangle touches the triangle's.
template <class Stored>
bool BasicSolver<Stored>::moves(const mesh::Triangle& t) const {
  const Motion& m = bed_.motion;
  const auto [west, east] = std::minmax({t.a.x, t.b.x, t.c.x});
  const auto [south, north] = std::minmax({t.a.y, t.b.y, t.c.y});
  return metric_.x(west) <= m.east && metric_.x(east) >= m.west && metric_.y(south) <= m.north &&
         metric_.y(north) >= m.south;
}

// The bed of the present time; the water on it is lifted with it.
template <class Stored>
void BasicSolver<Stored>::move_bed() {
  for (std::size_t i = 0; i < cells(); ++i) {
    const mesh::Triangle t = mesh_.triangle(i);
    if (!moves(t)) continue;
    // As it is stored: what rounding takes of a floor that stays would lift the water anew in each step.
    const auto b = static_cast<Stored>(bed_of(mesh_.leaves()[i], t));
    const double lifted = static_cast<double>(b) - b_[i];
    eta_[i] = static_cast<Stored>(eta_[i] > b_[i] ? eta_[i] + lifted : b);
    b_[i] = b;
  }
  connect();
  find_rough_cells();
}

template <class Stored>
Cell BasicSolver<Stored>::initial_cell(mesh::Leaf leaf, const Function& surface) const {
  const double b = bed_of(leaf, setup_.domain.triangle(leaf));
  return {std::max(average(surface, leaf), b), 0, 0, b};
}

template <class Stored>
double BasicSolver<Stored>::area(std::size_t i) const {
  const mesh::CellShape& shape = mesh_.shapes()[i];
  return metric_.area(mesh_.leaves()[i].level(), shape.direction, shape.y_sum);
}

template <class Stored>
double BasicSolver<Stored>::volume() const {
  long double sum = 0;
  for (std::size_t i = 0; i < cells(); ++i)
    sum += static_cast<long double>(area(i)) * (static_cast<long double>(eta_[i]) - b_[i]);
  return static_cast<double>(sum);
}

template <class Stored>
void BasicSolver<Stored>::find_areas() {
  mesh::resize_tight(inverse_area_, cells());
  for (std::size_t i = 0; i < cells(); ++i) inverse_area_[i] = 1 / area(i);
}

// All that follows from the mesh. Collective.
template <class Stored>
void BasicSolver<Stored>::connect_anew() {
  find_areas();
  connect();
  if (setup_.physics.order == 2) find_kinds();
  find_rough_cells();
}

// But areas, kinds and roughness, which cells keep: sizes, sections, the halo's bed, gauges. Collective.
template <class Stored>
void BasicSolver<Stored>::connect() {
  const std::size_t all = mesh_.all_cells(), own = cells();
  for (auto* field : {&eta_, &hu_, &hv_, &b_}) mesh::resize_tight(*field, all);
  inverse_area_.resize(own);
  const mesh::Edges& e = mesh_.edges();
  for (auto* arrays : {spare_, gains_})
    for (int f = 0; f < 3; ++f) mesh::resize_tight(arrays[f], own);
  border_mass_.assign(mesh_.boundary().size(), 0);
  sections_.build(mesh_, setup_.physics.order == 2);
  for (Scratch& s : scratch_) s.fit(sections_.widest());
  fluxes_known_ = false;

  const std::size_t halo_cells = mesh_.halo_cells();
  halo_receive_.resize(halo_cells);
  std::iota(halo_receive_.begin(), halo_receive_.end(), static_cast<std::int32_t>(own));
  const std::array bed{b_.data()};
  mesh_.halo().start<Stored>(bed, mesh_.halo().cells(), halo_receive_);
  mesh_.halo().finish();
  for (const auto& border : mesh_.boundary()) b_[e.right[border.edge]] = b_[e.left[border.edge]];
  if (setup_.physics.order == 2) connect_faces();

  sponge_.place(mesh_, metric_, std::span<const Stored>(b_), setup_.sea_level, setup_.physics.gravity);
  locate_gauges();
}

template <class Stored>
void BasicSolver<Stored>::fill_exterior(double time) {
  const mesh::Edges& e = mesh_.edges();
  const std::array<double, 4> waves = wave_heights(setup_.borders, time);
  for (const auto& [edge, border] : mesh_.boundary()) {
    const auto inside = e.left[edge], outside = e.right[edge];
    const auto side = static_cast<std::size_t>(border);
    const WaterState s = beyond(border, setup_.borders[side].kind, {eta_[inside], hu_[inside], hv_[inside]},
                                b_[inside], setup_.sea_level, waves[side], setup_.physics);
    eta_[outside] = static_cast<Stored>(s.eta);
    hu_[outside] = static_cast<Stored>(s.hu), hv_[outside] = static_cast<Stored>(s.hv);
  }
}

template <class Stored>
double BasicSolver<Stored>::step(double max_dt) {
  // A step ends where the floor begins to move, and where it comes to rest.
  const Motion& motion = bed_.motion;
  const bool quakes = motion.lift && time_ < motion.end;
  const double turn = time_ < motion.begin ? motion.begin : motion.end;
  if (quakes) max_dt = std::min(max_dt, turn - time_);
  double rate = find_gains(time_);
  if (!sound_) rate = std::numeric_limits<double>::infinity();

  // The gauges' values ride along with the one reduction of the step.
  reduction_.assign(1, rate);
  append_gauges(reduction_);
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, reduction_.data(), static_cast<int>(reduction_.size()),
                                   MPI_DOUBLE, MPI_MAX, mesh_.comm()),
                     "finding the time step");
  keep_gauges(reduction_.data() + 1);
  rate = reduction_[0];
  if (!std::isfinite(rate)) refuse_state();
  double dt = rate > 0 ? std::min(setup_.physics.cfl / rate, max_dt) : max_dt;
  sound_ = setup_.physics.order == 2 ? step_order2(dt) : step_order1(dt);
  const auto own = static_cast<std::int64_t>(cells());
  time_ = quakes && dt == turn - time_ ? turn : time_ + dt;
  ++steps_;
  updates_ += own;
  if (!sound_) refuse_state();  // before a new mesh, or a checkpoint, makes something else of it
  if (quakes && time_ >= motion.begin) move_bed();
  fluxes_known_ = true;
  return dt;
}

template <class Stored>
bool BasicSolver<Stored>::step_order1(double dt) {
  const double through = dt * inflow();
  const bool sound = advance(dt, Stage::Only);
  return settle(sound, through + apply_forces(dt));
}

// m^3 / s through this rank's borders.
template <class Stored>
double BasicSolver<Stored>::inflow() const {
  double sum = 0;
  for (const double mass : border_mass_) sum += mass;
  return sum;
}

// Whether all ranks' cells are sound; then what has come in is added up. Collective.
template <class Stored>
bool BasicSolver<Stored>::settle(bool sound, double came_in) {
  double sums[] = {sound ? 0.0 : 1.0, came_in};
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, mesh_.comm()),
                     "checking the step");
  if (sums[0] > 0) return false;
  came_in_ += sums[1];
  return true;
}

template <class Stored>
void BasicSolver<Stored>::add_gauge(double x, double y) {
  const auto leaf = setup_.domain.locate(metric_.x4(x), metric_.y4(y), setup_.finest);
  if (!leaf)
    throw std::invalid_argument("swe: gauge (" + std::to_string(x) + ", " + std::to_string(y) +
                                ") lies outside of the domain");
  gauges_.push_back({x, y, {}});
  gauge_leaves_.push_back(*leaf);
  locate_gauges();
}

template <class Stored>
void BasicSolver<Stored>::locate_gauges() {
  gauge_cells_.clear();
  for (const mesh::Leaf leaf : gauge_leaves_) gauge_cells_.push_back(mesh_.find(leaf));
}

// To be reduced by their maximum: one rank has each.
template <class Stored>
void BasicSolver<Stored>::append_gauges(std::vector<double>& values) const {
  for (const std::int32_t cell : gauge_cells_) {
    if (cell < 0) {
      values.insert(values.end(), kGaugeValues, -std::numeric_limits<double>::infinity());
      continue;
    }
    const Cell c = this->cell(static_cast<std::size_t>(cell));
    const double depth = c.eta - c.b, flow = depth > setup_.physics.dry_tolerance ? 1 / depth : 0;
    const auto level = static_cast<double>(mesh_.leaves()[static_cast<std::size_t>(cell)].level());
    for (const double value : {c.eta, depth, c.hu * flow, c.hv * flow, level}) values.push_back(value);
  }
}

template <class Stored>
void BasicSolver<Stored>::keep_gauges(const double* values) {
  for (GaugeSeries& gauge : gauges_) {
    gauge.samples.push_back({time_, values[0], values[1], values[2], values[3], values[4]});
    values += kGaugeValues;
  }
}

template <class Stored>
void BasicSolver<Stored>::refuse_state() const {
  enum Fault : int { speed, depth, momentum, surface };
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t first = none;
  int fault = speed;
  for (std::size_t i = 0; i < cells() && first == none; ++i) {
    if (!std::isfinite(eta_[i]) || !std::isfinite(b_[i]))
      fault = surface;
    else if (!std::isfinite(hu_[i]) || !std::isfinite(hv_[i]))
      fault = momentum;
    else if (eta_[i] < b_[i])
      fault = depth;
    else
      continue;
    first = mesh_.leaves()[i].bits;
  }
  std::uint64_t chosen = first;
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &chosen, 1, MPI_UINT64_T, MPI_MIN, mesh_.comm()),
                     "finding the cell that failed");
  if (chosen != first) fault = speed;
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fault, 1, MPI_INT, MPI_MAX, mesh_.comm()),
                     "finding what failed");
  std::string what = "swe: at t = " + std::to_string(time_) + " s ";
  if (chosen == none) throw StateError(what + "the speed of the water became infinite");
  const mesh::Leaf leaf{chosen};
  const auto [x, y] = metric_.centroid(setup_.domain.triangle(leaf));
  what += "the cell of level " + std::to_string(leaf.level()) + " at (" + std::to_string(x) + ", " +
          std::to_string(y) + ") has ";
  const char* const faults[] = {"", "a depth below 0", "a momentum that is infinite or undefined",
                                "a surface or bed that is infinite or undefined"};
  throw StateError(what + faults[fault]);
}

template <class Stored>
void BasicSolver<Stored>::sample_gauges() {
  int unsound = sound_ ? 0 : 1;
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &unsound, 1, MPI_INT, MPI_MAX, mesh_.comm()),
                     "checking the state");
  if (unsound != 0) refuse_state();
  std::vector<double> values;
  append_gauges(values);
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                                   MPI_MAX, mesh_.comm()),
                     "reading the gauges");
  keep_gauges(values.data());
}

template <class Stored>
std::vector<Element>& BasicSolver<Stored>::elements() {
  elements_.resize(cells());
  for (std::size_t i = 0; i < elements_.size(); ++i) elements_[i] = {mesh_.leaves()[i], cell(i)};
  return elements_;
}

template <class Stored>
bool BasicSolver<Stored>::balance(double capacity, double tolerance) {
  struct Load {
    double cells, capacity;
  };
  const Load mine{static_cast<double>(cells()), capacity};
  std::vector<Load> loads(mesh_.bounds().size() - 1);  // per rank
  elastic::check_mpi(MPI_Allgather(&mine, 2, MPI_DOUBLE, loads.data(), 2, MPI_DOUBLE, mesh_.comm()),
                     "comparing the load");
  Load total{};
  for (const Load& l : loads) total.cells += l.cells, total.capacity += l.capacity;
  // A few cells too many cannot be helped: siblings stay together.
  const bool moves = std::ranges::any_of(loads, [&](const Load& l) {
    return l.cells > total.cells * l.capacity / total.capacity * (1 + tolerance) + 4;
  });
  if (!moves) return false;
  const auto may_cut = cut_positions();
  elements();
  elements_ = elastic::move_sequence<Element>(mesh_.comm(), elements_, {}, capacity, may_cut);
  rebuild(mesh_.comm());
  return true;
}

template <class Stored>
void BasicSolver<Stored>::rebuild(MPI_Comm comm) {
  std::vector<mesh::Leaf> leaves(elements_.size());
  for (auto* field : {&eta_, &hu_, &hv_, &b_}) mesh::resize_tight(*field, elements_.size());
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    leaves[i] = elements_[i].leaf;
    set_cell(i, elements_[i].cell);
  }
  std::vector<Element>().swap(elements_);  // = {} would keep its memory
  mesh_.assign(std::move(leaves), comm);
  connect_anew();
}

template class BasicSolver<double>;
template class BasicSolver<float>;

}  // namespace swe

// SPDX-License-Identifier: Apache-2.0
// Where the mesh is fine, how columns follow it, and how they move between ranks.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <elastic_mpi/sequence.hpp>
#include <stdexcept>

#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/solver/simulator.hpp"

namespace spe10 {
namespace {

enum Activity : std::int8_t { calm, lively, refined };  // may coarsen, stays, must be fine

Activity activity_of(double value, double refine_above, double coarsen_below) {
  return value > refine_above ? refined : value > coarsen_below ? lively : calm;
}

}  // namespace

// Collective: jumps across halo edges, and the buffer, reach across ranks.
std::vector<std::int8_t> Simulator::marks() {
  const Criterion& c = setup_.criterion;
  const mesh::Edges& edges = columns_.mesh.edges();
  const std::size_t nz = columns_.nz(), own = columns_.own(),
                    inner = edges.size() - columns_.mesh.boundary().size();
  columns_.exchange(columns_.s);
  columns_.exchange(columns_.p);
  std::vector<std::int8_t> marks(own, calm);
  for (std::size_t e = 0; e < inner; ++e) {
    const auto l = static_cast<std::size_t>(edges.left[e]), r = static_cast<std::size_t>(edges.right[e]);
    double ds = 0, dp = 0;
    for (std::size_t z = 0; z < nz; ++z) {
      if (!columns_.open(e, z)) continue;  // what is in an inactive prism is old
      ds = std::max(ds, std::abs(columns_.s[l * nz + z] - columns_.s[r * nz + z]));
      dp = std::max(dp, std::abs(columns_.p[l * nz + z] - columns_.p[r * nz + z]));
    }
    const auto activity = std::max<std::int8_t>(activity_of(ds, c.refine_s, c.coarsen_s),
                                                activity_of(dp, c.refine_p, c.coarsen_p));
    for (const std::size_t cell : {l, r})
      if (cell < own) marks[cell] = std::max(marks[cell], activity);
  }
  columns_.mesh.dilate(marks, c.buffer);
  std::vector<std::int8_t> near_wells(own, calm);
  for (const Completion& w : completions_) near_wells[static_cast<std::size_t>(w.column)] = refined;
  columns_.mesh.dilate(near_wells, c.around_wells);
  for (std::size_t i = 0; i < own; ++i) {
    const int level = columns_.mesh.leaves()[i].level();
    const std::int8_t wanted = std::max(marks[i], near_wells[i]);
    const bool refine = wanted == refined && level < setup_.finest;
    const bool coarsen = wanted == calm && level > setup_.coarsest;
    marks[i] = static_cast<std::int8_t>(refine - coarsen);
  }
  return marks;
}

bool Simulator::adapt() {
  if (setup_.coarsest == setup_.finest) return false;
  const mesh::Transfer t = columns_.mesh.adapt(marks());
  if (!t.changed) return false;
  transfer(t);
  connect();
  return true;
}

// Children take their parent's state; a parent takes its children's water and oil, and the pressure that
// stores as much.
void Simulator::transfer(const mesh::Transfer& t) {
  using Column = std::vector<double>;  // saturations, then pressures, then excesses
  const std::size_t nz = columns_.nz();
  const auto length = static_cast<std::ptrdiff_t>(nz);
  std::array<std::vector<double>, 3> next;
  for (auto& field : next) field.resize(t.new_cells * nz);
  std::vector<Rock> rock(nz);
  const auto get = [&](std::int32_t i) {
    Column column;
    for (const auto* field : columns_.state())
      column.insert(column.end(), field->begin() + i * length, field->begin() + (i + 1) * length);
    return column;
  };
  const auto keep = [&](std::int32_t from, std::int32_t to, std::int32_t count) {
    for (std::size_t f = 0; f < next.size(); ++f)
      std::copy_n(columns_.state()[f]->begin() + from * length, count * length,
                  next[f].begin() + to * length);
  };
  const auto put = [&](std::int32_t i, const Column& column) {
    for (std::size_t f = 0; f < next.size(); ++f)
      std::copy_n(column.begin() + static_cast<std::ptrdiff_t>(f) * length, nz, next[f].begin() + i * length);
  };
  const auto refine = [](mesh::Leaf, const Column& parent) { return std::pair{parent, parent}; };
  const auto coarsen = [&](mesh::Leaf parent, const Column& first, const Column& second) {
    std::vector<Rock> other(nz);
    setup_.rock(parent.child(0), rock);
    setup_.rock(parent.child(1), other);
    Column column(first.size());
    for (std::size_t z = 0; z < nz; ++z)  // the children's areas are the same
      join(rock[z].phi, &first[z], other[z].phi, &second[z], &column[z]);
    return column;
  };
  t.apply<Column>(get, keep, put, refine, coarsen, Column(next.size() * nz));
  for (std::size_t f = 0; f < next.size(); ++f) columns_.state()[f]->swap(next[f]);
}

// Of prisms of one volume with porosities a and b; their state lies nz apart.
void Simulator::join(double a, const double* first, double b, const double* second, double* joined) const {
  const std::size_t nz = columns_.nz();
  if (a + b <= 0) {  // nothing flows there
    for (std::size_t f = 0; f < 3; ++f) joined[f * nz] = first[f * nz];
    return;
  }
  const Fluid& fluid = setup_.deck.fluid;
  const auto mean = [&](double of_first, double of_second) {
    return (a * of_first + b * of_second) / (a + b);
  };
  const double ca = a * fluid.compressibility(first[0]), cb = b * fluid.compressibility(second[0]);
  const double p =
      ca + cb > 0 ? (ca * first[nz] + cb * second[nz]) / (ca + cb) : 0.5 * (first[nz] + second[nz]);
  const auto water = [&](const double* x) { return x[0] * fluid.water_held(x[nz]); };
  const auto oil = [&](const double* x) { return (1 - x[0] + x[2 * nz]) * fluid.oil_held(x[nz]); };
  const double s = mean(water(first), water(second)) / fluid.water_held(p);
  joined[0] = s, joined[nz] = p;
  joined[2 * nz] = mean(oil(first), oil(second)) / fluid.oil_held(p) - (1 - s);
}

bool Simulator::balance(double tolerance) {
  const double mine = static_cast<double>(columns_.own());
  double most = 0;
  elastic::check_mpi(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, columns_.mesh.comm()),
                     "comparing the load");
  const double mean = sum(mine) / static_cast<double>(columns_.mesh.bounds().size() - 1);
  // A few columns too many cannot be helped: siblings stay together.
  if (most <= mean * (1 + tolerance) + 4) return false;
  const MPI_Comm comm = columns_.mesh.comm();
  move(comm, 1);
  accept();
  rebuild(comm);
  return true;
}

// All columns weigh the same, nz prisms, so the cuts need no weights.
// Per column its saturations, its pressures and its excesses.
std::vector<double> Simulator::state() const {
  std::vector<double> state;
  state.reserve(columns_.own() * columns_.state().size() * columns_.nz());
  for (std::size_t i = 0; i < columns_.own(); ++i)
    for (const auto* field : columns_.state())
      state.insert(state.end(), field->begin() + static_cast<std::ptrdiff_t>(columns_.at(i, 0)),
                   field->begin() + static_cast<std::ptrdiff_t>(columns_.at(i + 1, 0)));
  return state;
}

std::int64_t Simulator::put_aside(MPI_Comm comm, std::span<const mesh::Leaf> leaves,
                                  std::span<const double> state, double capacity) {
  const std::size_t width = columns_.state().size() * columns_.nz(),
                    bytes = sizeof(mesh::Leaf) + width * sizeof(double);
  const elastic::SequencePlan plan(comm, static_cast<std::int64_t>(leaves.size()), bytes, {}, capacity,
                                   mesh::cut_positions(leaves));
  moved_leaves_ = plan.move(comm, leaves);
  moved_state_ = plan.move(comm, state, width);
  return plan.sent_bytes(bytes);
}

std::int64_t Simulator::move(MPI_Comm everybody, double capacity) {
  return put_aside(everybody, columns_.mesh.leaves(), state(), capacity);
}

std::vector<std::byte> Simulator::save() const {
  std::vector<std::byte> saved;
  const auto append = [&](std::span<const std::byte> bytes) {
    saved.insert(saved.end(), bytes.begin(), bytes.end());
  };
  append(std::as_bytes(columns_.mesh.leaves()));
  const std::vector<double> values = state();
  append(std::as_bytes(std::span(values)));
  return saved;
}

void Simulator::load(MPI_Comm comm, const std::vector<std::span<const std::byte>>& parts) {
  const std::size_t width = columns_.state().size() * columns_.nz(),
                    bytes = sizeof(mesh::Leaf) + width * sizeof(double);
  std::vector<mesh::Leaf> leaves;
  std::vector<double> state;
  bool fits = true;
  for (const auto& part : parts) {
    const std::size_t count = part.size() / bytes;
    fits &= part.size() % bytes == 0;
    if (!fits) break;
    leaves.resize(leaves.size() + count);
    state.resize(state.size() + count * width);
    std::memcpy(leaves.data() + leaves.size() - count, part.data(), count * sizeof(mesh::Leaf));
    std::memcpy(state.data() + state.size() - count * width, part.data() + count * sizeof(mesh::Leaf),
                count * width * sizeof(double));
  }
  int all = fits;
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm), "looking at a checkpoint");
  if (all == 0) throw std::runtime_error("it is of a reservoir with another number of layers");
  put_aside(comm, leaves, state, 1);
}

void Simulator::accept() {
  const std::size_t nz = columns_.nz(), count = moved_leaves_.size();
  auto from = moved_state_.begin();
  for (auto* field : columns_.state()) field->resize(count * nz);
  for (std::size_t i = 0; i < count; ++i)
    for (auto* field : columns_.state()) {
      std::copy_n(from, nz, field->begin() + static_cast<std::ptrdiff_t>(nz * i));
      from += static_cast<std::ptrdiff_t>(nz);
    }
  moved_state_ = {};
  columns_.mesh.hold(std::move(moved_leaves_));
}

void Simulator::rebuild(MPI_Comm comm) {
  columns_.mesh.rebuild(comm);
  connect();
}

}  // namespace spe10

// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/borders.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace swe {
namespace {

constexpr double kAttenuation = 2;  // A: of a wave that has passed a sponge e^-A is left
constexpr double kDegree = std::numbers::pi / 180;

}  // namespace

void check_borders(const Borders& borders) {
  for (const Border& border : borders) {
    if (!(border.sponge >= 0))
      throw std::invalid_argument("swe: a sponge of " + std::to_string(border.sponge) + " m at a border");
    if (border.wave.surface && (border.kind == BorderKind::Wall || border.sponge > 0))
      throw std::invalid_argument("swe: a wave comes in through an open border without a sponge only");
  }
}

std::array<double, 4> wave_heights(const Borders& borders, double time) {
  std::array<double, 4> heights{};
  for (std::size_t side = 0; side < borders.size(); ++side)
    if (const Wave& wave = borders[side].wave; wave.surface && time < wave.end)
      heights[side] = wave.surface(time);
  return heights;
}

WaterState beyond(mesh::Border side, BorderKind kind, const WaterState& inside, double b, double sea_level,
                  double wave, const Physics& physics) {
  const bool meridional = side == mesh::Border::West || side == mesh::Border::East;
  if (kind == BorderKind::Wall)
    return {inside.eta, meridional ? -inside.hu : inside.hu, meridional ? inside.hv : -inside.hv};
  const double still = sea_level - b;
  if (wave == 0 || still <= physics.dry_tolerance) return {std::max(sea_level, b), 0, 0};
  const double h = std::max(still + wave, 0.0);
  const double u = 2 * (std::sqrt(physics.gravity * h) - std::sqrt(physics.gravity * still));
  const double inwards = side == mesh::Border::West || side == mesh::Border::South ? h * u : -h * u;
  return {b + h, meridional ? inwards : 0, meridional ? 0 : inwards};
}

Sponge::Sponge(const Borders& borders, const Metric& metric, const mesh::Domain& domain)
    : west_(metric.x(0)),
      east_(metric.x(static_cast<double>(domain.nx) * mesh::kSide)),
      south_(metric.y(0)),
      north_(metric.y(static_cast<double>(domain.ny) * mesh::kSide)),
      sphere_(metric.frame().coordinates == Coordinates::Sphere),
      metres_(sphere_ ? metric.frame().radius * kDegree : 1) {
  std::ranges::transform(borders, width_.begin(), &Border::sponge);
}

bool Sponge::any() const {
  return std::ranges::any_of(width_, [](double width) { return width > 0; });
}

double Sponge::strength(double x, double y) const {
  const double eastwards = metres_ * (sphere_ ? std::cos(kDegree * y) : 1);
  const std::array<double, 4> distance = {(x - west_) * eastwards, (east_ - x) * eastwards,
                                          (y - south_) * metres_, (north_ - y) * metres_};
  double strongest = 0;
  for (std::size_t side = 0; side < width_.size(); ++side)
    if (distance[side] < width_[side]) {
      const double share = 1 - std::max(distance[side], 0.0) / width_[side];
      strongest = std::max(strongest, share * share / width_[side]);
    }
  return strongest;
}

template <class Stored>
void Sponge::place(const mesh::Mesh& mesh, const Metric& metric, std::span<const Stored> b, double sea_level,
                   double gravity) {
  cells_.clear();
  if (!any()) return;
  mesh::LeafWalk walk(mesh.domain());
  for (std::size_t i = 0; i < mesh.cells(); ++i) {
    const double still = sea_level - b[i];
    if (!(still > 0)) continue;
    const auto [x, y] = metric.centroid(walk.triangle(mesh.leaves()[i]));
    if (const double here = strength(x, y); here > 0)
      cells_.push_back({static_cast<std::int32_t>(i), 3 * kAttenuation * std::sqrt(gravity * still) * here});
  }
}

template <class Stored>
double Sponge::apply(const Physics& physics, const Fields<Stored>& cells, const double* inverse_area,
                     double sea_level, double dt) const {
  double came_in = 0;
  for (const auto& [i, rate] : cells_) {
    if (cells.eta[i] - cells.b[i] <= physics.dry_tolerance) continue;
    const double left = 1 / (1 + rate * dt), before = cells.eta[i];
    cells.eta[i] = static_cast<Stored>(sea_level + left * (before - sea_level));
    came_in += (cells.eta[i] - before) / inverse_area[i];
    cells.hu[i] = static_cast<Stored>(left * cells.hu[i]);
    cells.hv[i] = static_cast<Stored>(left * cells.hv[i]);
  }
  return came_in;
}

#define SWE_STORED(Stored)                                                                                \
  template void Sponge::place(const mesh::Mesh&, const Metric&, std::span<const Stored>, double, double); \
  template double Sponge::apply(const Physics&, const Fields<Stored>&, const double*, double, double) const
SWE_STORED(double);
SWE_STORED(float);
#undef SWE_STORED

}  // namespace swe

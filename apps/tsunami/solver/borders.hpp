// SPDX-License-Identifier: Apache-2.0
// What is at the four sides of the domain: walls, or an open sea into which waves leave, from which a wave
// may come, and before which a layer of water may calm what passes. The solver's loops know nothing of it: a
// border is the state of a cell outside of it, and a layer acts between two steps. All of it depends on place
// and time only, so that every bit is the same for every number of ranks.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/mesh/mesh.hpp"
#include "apps/tsunami/solver/kernel.hpp"
#include "apps/tsunami/solver/metric.hpp"

namespace swe {

// radiation: outside, water of the same depth is at rest at sea level, so that waves leave and nothing comes
// in but the border's `wave`.
enum class BorderKind { Wall, Radiation };

// A long wave that comes in at right angles, the same along the whole side.
struct Wave {
  std::function<double(double t)> surface;  // m above the sea level, at time t (s); empty: none
  double height = 0;                        // m, the largest |surface|: cells at the border are ready for it
  double end = 0;                           // s: nothing comes from then on
};

struct Border {
  Border(BorderKind kind_ = BorderKind::Wall) : kind(kind_) {}  // NOLINT: most have nothing else
  BorderKind kind;
  double sponge = 0;  // m, width of the layer that calms waves; 0: none
  Wave wave;          // of Radiation without a sponge
};

using Borders = std::array<Border, 4>;  // in the order of mesh::Border: west, east, south, north

// Throws std::invalid_argument for a width below 0, and for a wave through a wall or a sponge.
void check_borders(const Borders& borders);

// How high the waves of the four sides stand above the sea level, m.
std::array<double, 4> wave_heights(const Borders& borders, double time);

struct WaterState {
  double eta, hu, hv;  // m, m^2 / s
};

// The state outside of a cell whose bed lies at b, by which the Riemann problem at the border lets waves out
// and `wave` (m above the sea level) in: that of a simple wave into water at rest, u = 2 (sqrt(g h) - sqrt(g
// h0)) (Stoker, "Water Waves" (1957), section 10.4), so that its amplitude is met beyond linear theory.
WaterState beyond(mesh::Border side, BorderKind kind, const WaterState& inside, double b, double sea_level,
                  double wave, const Physics& physics);

// The layers before borders (Israeli and Orszag, J. Comput. Phys. 41 (1981) 115). In them surface and
// discharge return to rest at one common rate
//   r = 3 A sqrt(g h) s^2 / W,  s = 1 at the border, 0 where the layer of width W begins,
// with the depth h at rest and A = 2. As both return alike, a wave that runs at right angles to the border
// sees no change of impedance: it is e^-A of itself when it has passed, and what the border throws back
// e^-2A. At an angle, where an open border throws back most, the layer itself throws back a little, the more
// the larger A and the narrower it is: A is what is best for layers of one to two lengths of the wave. What
// lies above the sea level is left alone.
class Sponge {
 public:
  Sponge(const Borders& borders, const Metric& metric, const mesh::Domain& domain);

  bool any() const;
  // s^2 / W at a place in the frame's units, 1 / m: of the side for which it is largest; 0 outside of the
  // layers.
  double strength(double x, double y) const;
  // Finds the own cells inside, whose beds are b. Local.
  template <class Stored>
  void place(const mesh::Mesh& mesh, const Metric& metric, std::span<const Stored> b, double sea_level,
             double gravity);
  // Calms them for dt (implicit Euler); m^3 of water that this brings. Local.
  template <class Stored>
  double apply(const Physics& physics, const Fields<Stored>& cells, const double* inverse_area,
               double sea_level, double dt) const;

 private:
  struct Calmed {
    std::int32_t cell;
    double rate;  // 1 / s
  };
  std::array<double, 4> width_{};       // m
  double west_, east_, south_, north_;  // of the domain, the frame's units
  bool sphere_;
  double metres_;  // of a unit of y
  std::vector<Calmed> cells_;
};

}  // namespace swe

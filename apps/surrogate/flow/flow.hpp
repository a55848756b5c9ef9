// SPDX-License-Identifier: Apache-2.0
// An incompressible fluid that flows around obstacles in a box, in two dimensions: what the channel's forward
// model computes (channel.hpp). Lengths in m, times in s.
#pragma once
#include <span>
#include <vector>

#include "apps/surrogate/flow/poisson.hpp"

namespace flow {

/// A box of length x height metres, nx x ny cells. Walls do not slip.
struct Box {
  double length = 10, height = 2;  ///< m
  int nx = 100, ny = 20;
  double viscosity = 0.02;  ///< kinematic, m^2/s
  double dt = 0.01;         ///< s
  /// Western side: the velocity into the box at the middle of each cell, m/s; empty: a wall.
  std::vector<double> inflow = {};
  bool open_east = false;   ///< outflow at pressure 0; else a wall
  double lid = 0;           ///< m/s, velocity of the upper wall along x
  double resistance = 100;  ///< 1/s, Brinkman's: what is inside of an obstacle slows down at this rate
  /// Obstacles let nothing through: the resistance at a solid fraction f is 10 viscosity / h^2 f / (1 - f),
  /// which is what a cell beside a wall feels where f is a half, and a thousand times that inside.
  /// `resistance` is not used then.
  bool closed = false;
};

/// An axis-parallel solid block, m.
struct Block {
  double x = 0, y = 0;  ///< its centre
  double width = 0, height = 0;
};

struct Disc {
  double x = 0, y = 0;  ///< its centre
  double diameter = 0;
};

struct Force {
  double x = 0, y = 0;  ///< m^3/s^2: of a fluid of density 1, and a box 1 m deep
};

/// Incompressible Navier-Stokes equations in two dimensions, seed 000 equation (7.24), density 1:
/// velocities on the sides of the cells and pressure in their middle, central differences (second order),
/// Adams-Bashforth in time and an incremental pressure projection.
///
/// Obstacles are volume fractions with Brinkman's resistance. A fraction is the mean over a hat of two cells'
/// width, so that it, and with it the flow, has a continuous derivative in the obstacles' positions wherever
/// cell borders are.
class Flow {
 public:
  /// At rest but for the potential flow that the inflow enforces. Throws std::invalid_argument.
  explicit Flow(const Box& box);

  /// The obstacles from now on; they may overlap.
  void set_blocks(std::span<const Block> blocks);
  /// A cylinder instead of blocks.
  void set_disc(const Disc& disc);
  /// Restarts from the flow that the constructor makes.
  void reset();
  void step();

  const Box& box() const { return box_; }
  double hx() const { return hx_; }
  double hy() const { return hy_; }
  double time() const { return static_cast<double>(steps_) * box_.dt; }

  /// Velocity on the side x = i hx, y = (j + 1/2) hy, i in 0..nx, and x = (i + 1/2) hx, y = j hy, j in 0..ny;
  /// m/s.
  double u(int i, int j) const { return u_[at(i, j)]; }
  double v(int i, int j) const { return v_[at(i, j)]; }
  double pressure(int i, int j) const { return p_[at(i, j)]; }
  /// Of cell (i, j), 0 free to 1 solid.
  double solid(int i, int j) const;
  /// Velocities at a point of the box, between the nearest four values; m/s.
  double u_at(double x, double y) const;
  double v_at(double x, double y) const;
  double pressure_at(double x, double y) const;
  /// What the flow exerted on all obstacles in the last step: the momentum that their resistance took.
  Force force() const;
  /// Largest way of the fluid in a time step over the cells' size, in either direction; infinity if a
  /// velocity is infinite or undefined.
  double courant() const;
  /// Largest |div u| of a cell, 1/s.
  double divergence() const;
  /// Largest change of a velocity in the last step over dt, m/s^2: 0 when steady. Not cheap.
  double acceleration() const;
  /// Starts from another state of the same box, whatever its cells.
  void set_state(const Flow& other);

 private:
  std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(i + 1) * static_cast<std::size_t>(stride_) +
           static_cast<std::size_t>(j + 1);
  }
  void set_damping(const std::vector<double>& free_u, const std::vector<double>& free_v);
  void fill_borders();
  void predict();
  void project(bool add_pressure);

  Box box_;
  double hx_, hy_;
  int stride_;
  int last_u_;  // index of the last column of u that moves
  long steps_ = 0;
  Poisson poisson_;
  // With a border of one value all around; cell, left side and lower side of a cell share an index.
  std::vector<double> u_, v_, p_, next_u_, next_v_, rate_u_, rate_v_;
  std::vector<double> damping_u_, damping_v_;  // 1 / (1 + dt * resistance of the fraction)
  std::vector<double> solid_u_;                // fractions, where u is
  std::vector<double> rhs_;
};

}  // namespace flow

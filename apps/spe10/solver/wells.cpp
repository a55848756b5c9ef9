// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/wells.hpp"

#include <cmath>
#include <Eigen/Sparse>
#include <numbers>
#include <stdexcept>

namespace spe10 {
namespace {

// > 0 if the point lies left of the line from p to q.
std::int64_t side_of(mesh::Point p, mesh::Point q, WellPoint at) {
  return (static_cast<std::int64_t>(q.x) - p.x) * (at.y4 - 4ll * p.y) -
         (static_cast<std::int64_t>(q.y) - p.y) * (at.x4 - 4ll * p.x);
}

// Feet from the well, in coordinates in which the permeability is isotropic.
struct Isotropic {
  const Frame& frame;
  WellPoint well;
  double stretch;  // (ky / kx)^(1/4): x grows by it, y shrinks
  double x(double units) const {
    return (units - 0.25 * static_cast<double>(well.x4)) * frame.unit_x * stretch;
  }
  double y(double units) const {
    return (units - 0.25 * static_cast<double>(well.y4)) * frame.unit_y / stretch;
  }
};

// The uniform mesh around a well: a few root squares of the pattern, refined to one level.
struct Patch {
  mesh::Mesh mesh;
  WellPoint well;
  mesh::Point origin;  // in the units of the reservoir's mesh
};

// Root squares alternate with period 2: the patch begins at an even square so that its pattern is the mesh's.
Patch make_patch(WellPoint well, int level) {
  constexpr std::int64_t square = 4ll * mesh::kSide;
  constexpr int radius = 8;  // cells
  const int cells = 1 << level / 2, around = (radius / cells + 1) / 2 * 2 + (radius < cells ? 2 : 0);
  const auto origin = [&](std::int64_t at4) {
    const std::int64_t at = at4 / square - around;
    return at - (at % 2 + 2) % 2;
  };
  const std::int64_t x0 = origin(well.x4), y0 = origin(well.y4);
  return {mesh::Mesh(MPI_COMM_SELF, {2 * around + 2, 2 * around + 2}, level),
          {well.x4 - x0 * square, well.y4 - y0 * square},
          {static_cast<std::int32_t>(x0 * mesh::kSide), static_cast<std::int32_t>(y0 * mesh::kSide)}};
}

}  // namespace

WellPoint block_centre(const Field& field, int i, int j) {
  const std::int64_t block4 = 4ll * mesh::kSide / blocks_per_root(field);
  return {(2ll * i - 1) * block4 / 2, (2ll * j - 1) * block4 / 2};
}

bool touches(const mesh::Triangle& t, WellPoint point) {
  const std::int64_t ab = side_of(t.a, t.b, point), bc = side_of(t.b, t.c, point),
                     ca = side_of(t.c, t.a, point);
  return (ab >= 0 && bc >= 0 && ca >= 0) || (ab <= 0 && bc <= 0 && ca <= 0);
}

double angle_fraction(const mesh::Triangle& t, WellPoint point, const Frame& frame, double kx, double ky) {
  const Isotropic iso{frame, point, std::pow(ky / kx, 0.25)};
  const mesh::Point corners[] = {t.a, t.b, t.c};
  for (int k = 0; k < 3; ++k) {
    if (4ll * corners[k].x != point.x4 || 4ll * corners[k].y != point.y4) continue;
    const mesh::Point p = corners[(k + 1) % 3], q = corners[(k + 2) % 3];
    const double ux = iso.x(p.x), uy = iso.y(p.y), vx = iso.x(q.x), vy = iso.y(q.y);
    return std::abs(std::atan2(ux * vy - uy * vx, ux * vx + uy * vy)) / (2 * std::numbers::pi);
  }
  const bool on_edge =
      side_of(t.a, t.b, point) == 0 || side_of(t.b, t.c, point) == 0 || side_of(t.c, t.a, point) == 0;
  return on_edge ? 0.5 : 1;
}

double equivalent_radius(const Frame& frame, WellPoint well, const mesh::Triangle& at, int level,
                         bool in_block, double kx, double ky) {
  const Patch patch = make_patch(well, level);
  const mesh::Mesh& m = patch.mesh;
  const std::size_t n = m.cells(), first_border = m.edges().size() - m.boundary().size();
  const Isotropic iso{frame, patch.well, std::pow(ky / kx, 0.25)};
  const Rock rock{static_cast<float>(kx), static_cast<float>(ky), 1, 0, 0, 0, 1};
  const double k = std::sqrt(kx * ky);
  const unsigned flat = 1U << kTopFace | 1U << kBottomFace;

  // Per cell: its faces' matrix, its place relative to the well, and its share of a well of 2 pi k.
  std::vector<double> known(m.edges().size()), source(n);
  std::vector<double> sums(3 * n), totals(n);
  std::vector<Eigen::Triplet<double>> entries;
  Eigen::VectorXd rhs = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(first_border));
  for (std::size_t i = 0; i < n; ++i) {
    const mesh::Triangle t = m.triangle(i);
    const mesh::Point ends[3][2] = {{t.a, t.b}, {t.b, t.c}, {t.a, t.c}};
    FaceMatrix f;
    transmissibility(shape_of(t, frame), 1, rock, flat, f);
    if (touches(t, patch.well))
      source[i] = -2 * std::numbers::pi * k * angle_fraction(t, patch.well, frame, kx, ky);
    for (int a = 0; a < 3; ++a) {
      sums[3 * i + static_cast<std::size_t>(a)] = f[a][0] + f[a][1] + f[a][2];
      totals[i] += sums[3 * i + static_cast<std::size_t>(a)];
      const auto edge = static_cast<std::size_t>(m.cell_slots()[3 * i + static_cast<std::size_t>(a)] / 2);
      known[edge] = std::log(std::hypot(iso.x(0.5 * (ends[a][0].x + static_cast<double>(ends[a][1].x))),
                                        iso.y(0.5 * (ends[a][0].y + static_cast<double>(ends[a][1].y)))));
    }
    for (int a = 0; a < 3; ++a) {
      const auto row = static_cast<std::size_t>(m.cell_slots()[3 * i + static_cast<std::size_t>(a)] / 2);
      if (row >= first_border) continue;
      const double share = sums[3 * i + static_cast<std::size_t>(a)] / totals[i];
      // A block's well is at its pressure, which is that of the hypotenuse.
      rhs[static_cast<Eigen::Index>(row)] += (in_block ? (a == kHypotenuse ? 1 : 0) : share) * source[i];
      for (int b = 0; b < 3; ++b) {
        const auto column = static_cast<std::size_t>(m.cell_slots()[3 * i + static_cast<std::size_t>(b)] / 2);
        const double value = f[a][b] - share * sums[3 * i + static_cast<std::size_t>(b)];
        if (column >= first_border)
          rhs[static_cast<Eigen::Index>(row)] -= value * known[column];
        else
          entries.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
      }
    }
  }
  Eigen::SparseMatrix<double> matrix(rhs.size(), rhs.size());
  matrix.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(matrix);
  if (factors.info() != Eigen::Success) throw std::logic_error("wells: the patch around a well is singular");
  const Eigen::VectorXd pi = factors.solve(rhs);

  for (std::size_t i = 0; i < n; ++i) {
    const mesh::Triangle t = m.triangle(i);
    if (t.a + patch.origin != at.a || t.b + patch.origin != at.b || t.c + patch.origin != at.c) continue;
    if (in_block) return std::exp(pi[static_cast<Eigen::Index>(m.cell_slots()[3 * i + kHypotenuse] / 2)]);
    double p = source[i];
    for (std::size_t a = 0; a < 3; ++a) {
      const auto edge = static_cast<std::size_t>(m.cell_slots()[3 * i + a] / 2);
      p += sums[3 * i + a] * (edge >= first_border ? known[edge] : pi[static_cast<Eigen::Index>(edge)]);
    }
    return std::exp(p / totals[i]);
  }
  throw std::logic_error("wells: the patch around a well does not hold the cell beside it");
}

double EquivalentRadii::find(const Frame& frame, WellPoint well, mesh::Leaf leaf, const mesh::Triangle& at,
                             bool in_block, double kx, double ky) {
  const auto [place, asked_first] = known_.try_emplace({well.x4, well.y4, leaf.bits, in_block, ky / kx});
  if (asked_first) place->second = equivalent_radius(frame, well, at, leaf.level(), in_block, kx, ky);
  return place->second;
}

std::vector<Completion> WellModel::completions(const Columns& columns) {
  std::vector<Completion> result;
  const Frame& frame = columns.frame;
  mesh::LeafWalk walk(columns.mesh.domain());
  for (std::size_t i = 0; i < columns.own(); ++i) {
    const mesh::Leaf leaf = columns.mesh.leaves()[i];
    const mesh::Triangle t = walk.triangle(leaf);
    for (std::size_t w = 0; w < points_.size(); ++w) {
      if (!touches(t, points_[w])) continue;
      const Well& well = deck_.wells[w];
      const double density =
          well.kind == Well::Kind::Injector ? deck_.fluid.density_w : deck_.fluid.density_o;
      for (std::size_t z = 0; z < columns.nz(); ++z) {
        const Rock& rock = columns.rock[columns.at(i, z)];
        if (!rock.active()) continue;
        const double kx = rock.kxx, ky = rock.kyy, stretch = std::pow(ky / kx, 0.25);
        const double share = angle_fraction(t, points_[w], frame, kx, ky);
        // In isotropic coordinates the well is an ellipse, as good as a circle of the mean of its axes.
        const double well_radius = 0.5 * well.radius * (stretch + 1 / stretch);
        const double r0 = radii_.find(frame, points_[w], leaf, t, columns.in_block[i] != 0, kx, ky);
        if (r0 <= well_radius)
          throw std::runtime_error("well " + well.name + ": its cells are too fine for a radius of " +
                                   std::to_string(well.radius) + " ft; use a coarser finest level");
        const double index =
            2 * std::numbers::pi * share * std::sqrt(kx * ky) * frame.dz / std::log(r0 / well_radius);
        const double head = density * kPsiPerFt * (frame.depth(static_cast<int>(z)) - deck_.top);
        result.push_back(
            {static_cast<int>(w), static_cast<std::int32_t>(i), static_cast<std::int32_t>(z), index, head});
      }
    }
  }
  return result;
}

}  // namespace spe10

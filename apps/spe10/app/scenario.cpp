// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/app/scenario.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "apps/io/file_error.hpp"
#include "apps/io/input_file.hpp"
#include "apps/io/run_folder.hpp"
#include "runtime/base/text.hpp"

namespace spe10 {
namespace {

// The largest radius that a well has room for in the cells of the finest level, which are all around it:
// below the equivalent radius of each, as WellModel wants it. ft.
double largest_radius(Setup& setup, WellPoint well, int aligned) {
  // Within a block the mesh around its centre is the same two levels on, at half the size.
  int level = setup.finest;
  double size = 1;
  for (; level > aligned + 3; level -= 2) size /= 2;
  double largest = std::numeric_limits<double>::infinity();
  std::vector<Rock> column(static_cast<std::size_t>(setup.frame.nz));
  const auto visit = [&](auto&& self, mesh::Leaf leaf, const mesh::Triangle& t) -> void {
    if (!touches(t, well)) return;
    if (leaf.level() < level) {
      for (const int child : {0, 1}) self(self, leaf.child(child), t.child(child));
      return;
    }
    setup.rock(leaf, column);
    std::set<double> ratios;
    for (const Rock& rock : column) {
      if (!rock.active()) continue;
      const double kx = rock.kxx, ky = rock.kyy, stretch = std::pow(ky / kx, 0.25);
      if (!ratios.insert(ky / kx).second) continue;
      // In a block where there may be one: cells of more than a block may have neighbours of other rock.
      for (const bool in_block : {false, true}) {
        if (in_block ? level % 2 != 0 : level % 2 == 0 && level >= aligned) continue;
        const double radius = setup.radii.find(setup.frame, well, leaf, t, in_block, kx, ky);
        largest = std::min(largest, size * radius / (0.5 * (stretch + 1 / stretch)));
      }
    }
  };
  for (std::uint32_t root = 0; root < setup.domain.roots(); ++root)
    visit(visit, mesh::Leaf::of_root(root), setup.domain.root_triangle(root));
  return largest;
}

// Leaves the radii that it has found to the simulator.
void check_radii(const Options& o, Setup& setup, int aligned) {
  for (std::size_t w = 0; w < setup.wells.size(); ++w) {
    const Well& well = setup.deck.wells[w];
    const double largest = largest_radius(setup, setup.wells[w], aligned);
    if (well.radius >= largest)
      throw io::FileError(empi::format(
          "well %s: its cells are too fine for a radius of %g ft, below %.3g ft expected; take a --finest "
          "below %d, or a smaller radius_ft in --deck",
          well.name.c_str(), well.radius, largest, o.finest));
  }
}

}  // namespace

Scenario make_scenario(const Options& o) {
  Scenario s;
  const std::string folder = o.data + "/spe10_model2";
  const bool real = !o.data.empty() && has_spe10(folder);
  const bool own = !o.grid.empty();
  s.field = std::make_unique<Field>(own    ? read_grid(o.grid)
                                    : real ? read_spe10(folder, o.layers)
                                           : synthetic_field(kSpe10Nx, kSpe10Ny, o.layers, o.seed));
  const Field& field = *s.field;
  s.description = field.description;
  if (!own && !real)
    s.description += o.data.empty() ? " (no data folder given)" : " (no SPE10 data in " + folder + ")";

  Setup& setup = s.setup;
  setup.deck = own ? bare_deck(field) : spe10_deck(o.layers);
  if (!o.deck.empty()) {
    const io::InputFile file(o.deck);
    setup.deck = read_deck(file, setup.deck, field);
    s.deck_hash = file.hash();
  }
  for (const Well& well : setup.deck.wells) setup.wells.push_back(block_centre(field, well.i, well.j));
  const int blocks = blocks_per_root(field);
  if (2ll * (field.nx / blocks) * (field.ny / blocks) > mesh::kMaxRoots)
    throw io::FileError(o.grid, "",
                        empi::format("at most %u triangles in the coarsest mesh", mesh::kMaxRoots),
                        empi::format("%lld", 2ll * (field.nx / blocks) * (field.ny / blocks)),
                        "give a field whose numbers of blocks along x and y can be divided by 4");
  setup.domain = domain_of(field);
  setup.frame = {blocks * field.dx / mesh::kSide, blocks * field.dy / mesh::kSide, setup.deck.top,
                 field.dz / o.split, field.nz * o.split};
  setup.rock = rock_of(field, setup.domain, o.split);
  // Users count levels from half a block, 4, whatever number of blocks a root square has.
  const int shift = aligned_level(field) - 4;
  setup.coarsest = std::max(0, o.coarsest + shift), setup.finest = std::max(0, o.finest + shift);
  setup.criterion.refine_s = o.refine_s, setup.criterion.coarsen_s = o.coarsen_s;
  setup.criterion.refine_p = o.refine_p, setup.criterion.coarsen_p = o.coarsen_p;
  setup.time.mobility = o.mobility_error, setup.time.longest = o.longest;
  setup.solver.tolerance = o.tolerance, setup.solver.rows_per_rank = o.rows_per_rank;
  check_radii(o, setup, aligned_level(field));
  return s;
}

std::string name_case(const Options& o, const Scenario& scenario) {
  return scenario.description + (o.grid.empty() ? "" : "; field " + io::hex(hash_of(*scenario.field))) +
         (o.deck.empty() ? "; no deck file" : "; deck " + io::hex(scenario.deck_hash)) +
         empi::format("; %d layers in %d, seed %llu, levels %d to %d", o.layers, o.split,
                      static_cast<unsigned long long>(o.seed), o.coarsest, o.finest) +
         empi::format("; refined at %g and %g psi, coarsened at %g and %g psi, each %d steps", o.refine_s,
                      o.refine_p, o.coarsen_s, o.coarsen_p, o.adapt_every) +
         empi::format("; mobility error %g, steps of %g days at most", o.mobility_error, o.longest);
}

}  // namespace spe10

// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/app/options.hpp"

#include "apps/io/run_folder.hpp"
#include "runtime/base/options.hpp"
#include "runtime/base/text.hpp"

namespace spe10 {
namespace {

constexpr double kLoosest = 1e-5;  // of --tolerance

void check(const Options& o) {
  const auto refuse = [](const std::string& what) { throw empi::options::Refused("empi-spe10", what); };
  if (!o.grid.empty() && o.deck.empty())
    refuse("--grid without --deck: a field of your own has wells of its own, and a deck says where they are");
  if (!o.grid.empty() && o.layers != Options{}.layers)
    refuse("--layers with --grid: they are those of SPE10; a field of your own is taken as it is");
  if (o.coarsest > o.finest) refuse("--coarsest is finer than --finest");
  if (o.coarsen_s > o.refine_s || o.coarsen_p > o.refine_p)
    refuse(
        "--coarsen-s above --refine-s, or --coarsen-p above --refine-p: columns would be refined and "
        "coarsened for ever");
  if (o.tolerance > kLoosest)
    refuse("--tolerance " + empi::format("%g", o.tolerance) +
           ", expected at most 1e-5: what flows into a cell and out of it would not add up, and saturations "
           "would leave "
           "their range");
  if (o.tolerance < 1e-14)
    refuse("--tolerance " + empi::format("%g", o.tolerance) +
           ", expected at least 1e-14: rounding is not less");
}

// all, or a number of layers.
std::string layers_as_number(const std::string& text) { return text == "all" ? "85" : text; }

}  // namespace

Options parse_options(int argc, char** argv) {
  namespace options = empi::options;
  Options o;
  o.data = io::data_folder();
  o.out = io::default_folder();
  const options::Program program{
      .what =
          "Floods an oil reservoir with water: SPE10 model 2 on an adaptive mesh.\n"
          "Malleable under an Elastic MPI agent; alone or under mpirun it runs at a fixed size.",
      .reads_file = true,
      .options = {
          {"--data",
           &o.data,
           "folder with spe10_model2/; without it a synthetic field is used",
           {.shows_default = true}},
          {"--grid", &o.grid,
           "Eclipse deck with a field of any size (DIMENS, DX, DY, DZ, PERMX, PERMY, PERMZ, PORO, ACTNUM), "
           "instead of "
           "SPE10's; its wells: --deck"},
          {"--deck", &o.deck, "YAML file with liquids, initial state and wells, instead of SPE10's"},
          {"--layers",
           &o.layers,
           "layers of SPE10 from the bottom, 1 to 85, or all",
           {.check = options::in_range(1, 85),
            .shows_default = true,
            .rewrite = layers_as_number,
            .rewrite_name = "LAYERS"}},
          {"--split",
           &o.split,
           "prisms per layer",
           {.check = options::in_range(1, 8), .shows_default = true}},
          {"--seed", &o.seed, "of the synthetic field", {.shows_default = true}},
          {"--coarsest",
           &o.coarsest,
           "coarsest mesh level",
           {.check = options::in_range(0, 12), .shows_default = true}},
          {"--finest",
           &o.finest,
           "finest mesh level: 4 is half a block of the field, two more levels halve the cells",
           {.check = options::in_range(0, 12), .shows_default = true}},
          {"--days", &o.days, "simulated days", {.check = options::positive(), .shows_default = true}},
          {"--adapt-every",
           &o.adapt_every,
           "steps between adaptions; 0: never",
           {.check = options::not_negative(), .shows_default = true}},
          {"--refine-s",
           &o.refine_s,
           "jump of the saturation that refines",
           {.check = options::positive(), .shows_default = true}},
          {"--coarsen-s",
           &o.coarsen_s,
           "jump below which columns may be joined",
           {.check = options::not_negative(), .shows_default = true}},
          {"--refine-p",
           &o.refine_p,
           "jump of the pressure that refines, psi",
           {.check = options::positive(), .shows_default = true}},
          {"--coarsen-p",
           &o.coarsen_p,
           "jump below which columns may be joined, psi",
           {.check = options::not_negative(), .shows_default = true}},
          {"--step-error",
           &o.mobility_error,
           "relative change of mobility that one pressure solve may serve",
           {.check = options::in_range(1e-4, 1.0), .shows_default = true}},
          {"--longest-step",
           &o.longest,
           "days between pressure solves at most",
           {.check = options::positive(), .shows_default = true}},
          {"--tolerance",
           &o.tolerance,
           "of the pressure solver, 1e-14 to 1e-5",
           {.check = options::positive(), .shows_default = true}},
          {"--rows-per-rank",
           &o.rows_per_rank,
           "fewer ranks solve when each would have fewer rows; 1: all solve",
           {.check = options::in_range(1, 1000000000), .shows_default = true}},
          {"--snapshot-every",
           &o.snapshot_every,
           "days between snapshots; 0: none",
           {.check = options::not_negative(), .shows_default = true}},
          {"--balance",
           &o.balance_tolerance,
           "imbalance that moves columns",
           {.check = options::in_range(0.0, 10.0), .shows_default = true}},
          {"--out", &o.out, "folder for results", {.shows_default = true}},
      }};
  options::read_or_exit(program, argc, argv, [&] { check(o); });
  return o;
}

}  // namespace spe10

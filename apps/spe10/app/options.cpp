#include "apps/spe10/app/options.hpp"

#include <CLI/CLI.hpp>

#include "apps/io/run_folder.hpp"

namespace reservoir {
namespace {

void check(const Options& o) {
  const auto refuse = [](const std::string& what) { throw CLI::ValidationError("empi-spe10", what); };
  if (o.coarsest > o.finest) refuse("--coarsest is finer than --finest");
  if (o.coarsen_s > o.refine_s || o.coarsen_p > o.refine_p)
    refuse(
        "--coarsen-s above --refine-s, or --coarsen-p above --refine-p: columns would be refined and "
        "coarsened for ever");
}

// all, or a number of layers.
std::string layers_as_number(std::string& text) {
  if (text == "all") text = "85";
  return {};
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  o.data = io::data_folder();
  o.out = io::default_folder();
  CLI::App app{
      "Floods an oil reservoir with water: SPE10 model 2 on an adaptive mesh.\n"
      "Malleable under an Elastic MPI agent; alone or under mpirun it runs at a fixed size."};
  app.set_config("--config", "", "read options from a TOML or INI file");
  app.add_option("--data", o.data, "folder with spe10_model2/; without it a synthetic field is used")
      ->capture_default_str();
  app.add_option("--deck", o.deck, "YAML file with liquids, initial state and wells, instead of SPE10's");
  app.add_option("--layers", o.layers, "layers from the bottom, 1 to 85, or all")
      ->transform(CLI::Validator(layers_as_number, "LAYERS"))
      ->check(CLI::Range(1, 85))
      ->capture_default_str();
  app.add_option("--split", o.split, "prisms per layer")->check(CLI::Range(1, 8))->capture_default_str();
  app.add_option("--seed", o.seed, "of the synthetic field")->capture_default_str();
  app.add_option("--coarsest", o.coarsest, "coarsest mesh level")
      ->check(CLI::Range(0, 12))
      ->capture_default_str();
  app.add_option("--finest", o.finest,
                 "finest mesh level: 4 is half a block of SPE10, two more levels halve the cells")
      ->check(CLI::Range(0, 12))
      ->capture_default_str();
  app.add_option("--days", o.days, "simulated days")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--adapt-every", o.adapt_every, "steps between adaptions; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--refine-s", o.refine_s, "jump of the saturation that refines")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--coarsen-s", o.coarsen_s, "jump below which columns may be joined")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--refine-p", o.refine_p, "jump of the pressure that refines, psi")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--coarsen-p", o.coarsen_p, "jump below which columns may be joined, psi")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--step-error", o.mobility_error,
                 "relative change of mobility that one pressure solve may serve")
      ->check(CLI::Range(1e-4, 1.0))
      ->capture_default_str();
  app.add_option("--longest-step", o.longest, "days between pressure solves at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tolerance", o.tolerance, "of the pressure solver")
      ->check(CLI::Range(1e-14, 1e-2))
      ->capture_default_str();
  app.add_option("--rows-per-rank", o.rows_per_rank,
                 "fewer ranks solve when each would have fewer rows; 1: all solve")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app.add_option("--snapshot-every", o.snapshot_every, "days between snapshots; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--balance", o.balance_tolerance, "imbalance that moves columns")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--out", o.out, "folder for results")->capture_default_str();
  try {
    app.parse(argc, argv);
    check(o);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return o;
}

}  // namespace reservoir

// SPDX-License-Identifier: Apache-2.0
// empi-spe10: an oil reservoir flooded with water, as a malleable MPI program.
//
// The columns of the mesh are a distributed sequence in curve order; growing, shrinking and rebalancing all
// cut that sequence anew. See docs/spe10.md for options and accuracy.
#include <algorithm>
#include <cstdio>
#include <elastic_mpi.hpp>
#include <utility>

#include "apps/io/collective_try.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/spe10/app/options.hpp"
#include "apps/spe10/app/results.hpp"
#include "apps/spe10/app/scenario.hpp"
#include "apps/spe10/app/snapshot.hpp"

namespace {

using namespace spe10;

// What all ranks hold alike besides the simulator's clock.
constexpr double kDay = 86400;  // s

struct Totals {
  double next_snapshot = 0;
  int snapshots = 0;
  std::int64_t solves = 0, iterations = 0, setups = 0;
  double seconds_pressure = 0, seconds_transport = 0;
  double water_start = 0, oil_start = 0;
};

// Work per prism in units of a saturation substep, so that steps can be compared: from the later ones on they
// need more iterations and fewer substeps. The ratio was measured on the 2 layers of the quick demo; a setup
// of the multigrid is taken for ten iterations. The iterations depend on the number of ranks by some percent
// only.
double work_of(const StepReport& step) {
  constexpr double iteration = 13, setup = 130;
  return static_cast<double>(step.substeps) + iteration * step.iterations + (step.setup ? setup : 0);
}

class Run {
 public:
  Run(elastic::Loop& loop, const Options& options, Scenario scenario)
      : loop_(loop), options_(options), scenario_(std::move(scenario)), sim_(scenario_.setup) {
    if (!loop.joining()) {
      io::on_first_rank(MPI_COMM_WORLD, [&] {
        clear_results(options.out);
        announce_results(options.out, scenario_.description, scenario_.setup);
      });
      sim_.start(MPI_COMM_WORLD);
      totals_.water_start = mesh::total(MPI_COMM_WORLD, sim_.water_volume());
      totals_.oil_start = mesh::total(MPI_COMM_WORLD, sim_.oil_volume());
    }
    case_ = name_case(options, scenario_);
    register_data();
  }

  bool iterate(MPI_Comm world) {
    const double done = 1e-9 * options_.days;
    if (options_.snapshot_every > 0 && sim_.clock().days >= totals_.next_snapshot - done) snapshot(world);
    double limit = options_.days - sim_.clock().days;
    if (options_.snapshot_every > 0) limit = std::min(limit, totals_.next_snapshot - sim_.clock().days);
    const StepReport step = sim_.step(limit);
    totals_.solves += step.pressure_solves, totals_.iterations += step.iterations,
        totals_.setups += step.setup;
    totals_.seconds_pressure += step.seconds_pressure, totals_.seconds_transport += step.seconds_transport;
    int ranks = 0;
    MPI_Comm_size(world, &ranks);
    add_to_curves(curves_, sim_, step, ranks);
    const auto prisms = static_cast<double>(sim_.columns().own() * sim_.columns().nz());
    loop_.report(prisms * work_of(step), sim_.clock().days / options_.days);
    if (options_.adapt_every > 0 && sim_.clock().steps % options_.adapt_every == 0 && sim_.adapt())
      sim_.balance(options_.balance_tolerance);
    show_progress(world, false);
    return sim_.clock().days < options_.days - done;
  }

  // Collective over the final world.
  void finish(MPI_Comm world) {
    if (options_.snapshot_every > 0) snapshot(world);
    show_progress(world, true);
    Summary s;
    s.columns = static_cast<std::int64_t>(mesh::total(world, static_cast<double>(sim_.columns().own())));
    s.prisms = s.columns * sim_.columns().frame.nz;
    s.pressure_solves = totals_.solves, s.pressure_iterations = totals_.iterations, s.setups = totals_.setups;
    s.seconds_pressure = totals_.seconds_pressure, s.seconds_transport = totals_.seconds_transport;
    s.pore_volume = mesh::total(world, sim_.pore_volume());
    s.water_start = totals_.water_start, s.water_end = mesh::total(world, sim_.water_volume());
    s.oil_start = totals_.oil_start, s.oil_end = mesh::total(world, sim_.oil_volume());
    double range[2] = {-1e300, -1e300};  // -lowest, highest
    for (std::size_t k = 0; k < sim_.columns().own() * sim_.columns().nz(); ++k)
      range[0] = std::max(range[0], -sim_.columns().s[k]), range[1] = std::max(range[1], sim_.columns().s[k]);
    elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_DOUBLE, MPI_MAX, world),
                       "comparing saturations");
    s.lowest_s = -range[0], s.highest_s = range[1];
    s.description = scenario_.description;
    io::on_first_rank(world, [&] { write_results(options_.out, s, sim_, curves_); });
    sim_.release();  // what hypre holds, before MPI ends
  }

  const std::string& description() const { return scenario_.description; }

 private:
  void register_data() {
    loop_.replicate(sim_.clock(), totals_, sim_.wells(), curves_, case_);
    loop_.data([this](MPI_Comm everybody, double capacity) { return sim_.move(everybody, capacity); },
               [this] { sim_.accept(); }, [this] { return sim_.save(); },
               [this](MPI_Comm world, const auto& parts) { sim_.load(world, parts); });
    loop_.checkpoint();    // where and how often is the job's matter (spec.checkpoint)
    loop_.on_save([] {});  // the multigrid need not be made anew for it
    loop_.recoverable();
    loop_.on_release([this] { sim_.release(); });
    loop_.on_rebuild([this, starts = !loop_.joining()](MPI_Comm world) mutable {
      if (std::exchange(starts, false)) start_series(world);
      if (loop_.recovering())
        io::on_first_rank(world, [&] { io::cut_progress(options_.out, sim_.clock().days * kDay); });
      sim_.rebuild(world);
    });
  }

  // What goes on from a checkpoint continues what was written until then.
  void start_series(MPI_Comm world) {
    io::on_first_rank(world, [&] {
      if (!loop_.restored()) return clear_series(options_.out);
      io::expect_same_case(case_, name_case(options_, scenario_));
      io::cut_progress(options_.out, sim_.clock().days * kDay);
    });
    show_progress(world, true);
    loop_.report(0, 0);  // what took time until here is no iteration
  }

  void snapshot(MPI_Comm world) {
    char name[32];
    std::snprintf(name, sizeof name, "snapshot-%04d.vtkhdf", totals_.snapshots++);
    write_snapshot(world, sim_, scenario_.description, options_.out, name);
    if (!curves_.empty())
      io::on_first_rank(world, [&] { write_curves(options_.out, scenario_.setup.deck, curves_); });
    totals_.next_snapshot = options_.snapshot_every * totals_.snapshots;
  }

  void show_progress(MPI_Comm world, bool last) {
    io::Progress progress{sim_.clock().days * kDay, options_.days * kDay, sim_.clock().steps, 0, 0};
    progress.cells =
        static_cast<std::int64_t>(mesh::total(world, static_cast<double>(sim_.columns().own()))) *
        sim_.columns().frame.nz;
    MPI_Comm_size(world, &progress.ranks);
    io::on_first_rank(world, [&] { io::write_progress(options_.out, progress, last); });
  }

  elastic::Loop& loop_;
  const Options& options_;
  Scenario scenario_;
  Simulator sim_;
  Totals totals_;
  std::vector<double> curves_;
  std::string case_;  // that a checkpoint is of
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  elastic::Loop loop(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    Scenario scenario;
    io::prepare(loop.joining(), [&] { scenario = make_scenario(options); });
    Run run(loop, options, std::move(scenario));
    if (rank == 0 && !loop.joining()) std::printf("%s\n", run.description().c_str());
    loop.run([&](MPI_Comm world) { return run.iterate(world); });
    if (!loop.left()) run.finish(MPI_COMM_WORLD);
  } catch (const io::FileError& error) {
    return io::refuse("empi-spe10", error, loop.joining());
  } catch (const NotConverged& error) {  // on all ranks
    io::refuse("empi-spe10", error, false);
    return 1;
  }
  return 0;
}

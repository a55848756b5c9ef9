// SPDX-License-Identifier: Apache-2.0
// empi-tsunami: a tsunami on an adaptive mesh, as a malleable MPI program.
//
// The mesh cells are a distributed sequence in curve order; growing, shrinking and rebalancing all cut that
// sequence anew. See docs/tsunami.md for options and accuracy.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <elastic_mpi.hpp>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include "apps/io/collective_try.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/mesh/mpi_check.hpp"
#include "apps/tsunami/app/ground.hpp"
#include "apps/tsunami/app/maxima.hpp"
#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/app/results.hpp"
#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/app/sea_floor.hpp"
#include "apps/tsunami/app/snapshot.hpp"
#include "apps/tsunami/app/task_times.hpp"

namespace {

using tsunami::Options;
using tsunami::Task;

// Everything that all ranks hold alike, next to the cells.
struct Clock {
  double time = 0;  // s, simulated
  std::int64_t steps = 0;
  double next_snapshot = 0;
  int snapshots = 0;
  double volume_at_start = 0;           // m^3
  double volume_added = 0;              // m^3, by refining cells across a shore
  double volume_came_in = 0;            // m^3, through borders; less what has left
  std::int64_t cells = 0, updates = 0;  // of all ranks; updates also of those that have left
  tsunami::TaskTimes tasks{};           // mean over the ranks of each time
};

template <class Solver>
class Run {
 public:
  Run(elastic::Loop& loop, const Options& options, tsunami::Scenario scenario)
      : loop_(loop),
        options_(options),
        scenario_(std::move(scenario)),
        setup_(tsunami::make_setup(options, scenario_)),
        solver_(loop.joining() ? Solver(setup_, scenario_.bed)
                               : Solver(MPI_COMM_WORLD, setup_, scenario_.bed, scenario_.surface)),
        maxima_(options, setup_, solver_.metric()) {
    solver_.set_threads(options.threads);
    for (const auto& gauge : scenario_.gauges) solver_.add_gauge(gauge.lon, gauge.lat);
    if (!loop.joining()) expect_gauges_in_water();
    series_.resize(scenario_.gauges.size());
    case_ = tsunami::name_case(options, scenario_);
    if (!loop.joining()) {
      io::on_first_rank(MPI_COMM_WORLD, [&] {
        tsunami::clear_results(options.out);
        tsunami::announce_results(options.out, scenario_);
        tsunami::write_ground(options.out + "/" + tsunami::kGroundFile, options, scenario_);
      });
      clock_.volume_at_start = mesh::total(MPI_COMM_WORLD, solver_.volume());
      clock_.cells = all_cells(MPI_COMM_WORLD);
      solver_.elements();
    }
    register_data();
  }

  bool iterate(MPI_Comm world) {
    // What lies between two iterations is the loop's. Before its first one, a rank that joins has waited
    // while the others counted.
    if (std::exchange(iterated_, true))
      tasks_.lap(Task::Adaptation);
    else
      tasks_ = {};
    if (options_.snapshot_every > 0 && clock_.time >= clock_.next_snapshot) snapshot(world);
    double limit = options_.end - clock_.time;
    if (options_.snapshot_every > 0) limit = std::min(limit, clock_.next_snapshot - clock_.time);
    tasks_.lap(Task::Others);
    solver_.step(limit);
    emulate_slow_cells();
    tasks_.lap(Task::Step);
    maxima_.note(solver_);
    clock_.time = solver_.time();
    clock_.steps = solver_.steps();
    clock_.volume_came_in = solver_.came_in();
    clock_.updates += clock_.cells;
    loop_.report(static_cast<double>(solver_.updates() - reported_), clock_.time / options_.end);
    reported_ = solver_.updates();
    if (clock_.steps % options_.adapt_every == 0) {
      maxima_.settle(solver_);
      tasks_.lap(Task::Others);
      const bool changed = solver_.adapt();
      tasks_.lap(Task::Refinement);
      tasks_.was(Task::Conformity, Task::Refinement, solver_.conformity_seconds());
      if (changed) {
        clock_.volume_added += solver_.added();
        solver_.balance(1, options_.balance_tolerance);
        tasks_.lap(Task::Balance);
        clock_.cells = all_cells(world);
      }
      show_progress(world, false);
      tasks_.add_to(clock_.tasks, world);
    }
    tasks_.lap(Task::Others);
    return clock_.time < options_.end;
  }

  // Collective over the final world.
  void finish(MPI_Comm world) {
    if (options_.snapshot_every > 0) snapshot(world);
    solver_.sample_gauges();
    maxima_.settle(solver_);
    maxima_.write(world, options_.out + "/" + tsunami::kMaximaFile, scenario_.description);
    show_progress(world, true);
    tasks_.lap(Task::Others);
    tasks_.add_to(clock_.tasks, world);
    tsunami::Summary summary;
    summary.tasks = clock_.tasks;
    summary.cells = clock_.cells;
    summary.steps = clock_.steps;
    summary.updates = clock_.updates;
    summary.volume_drift =
        (mesh::total(world, solver_.volume()) - clock_.volume_added - clock_.volume_came_in) /
            clock_.volume_at_start -
        1;
    summary.volume_came_in = clock_.volume_came_in / clock_.volume_at_start;
    summary.volume_added = clock_.volume_added / clock_.volume_at_start;
    summary.hash = tsunami::state_hash(world, solver_);
    summary.description = scenario_.description;
    summary.finest_cell_km = tsunami::finest_cell_km(options_);
    io::on_first_rank(world,
                      [&] { tsunami::write_results(options_.out, summary, scenario_, solver_.gauges()); });
  }

  void introduce() const {
    std::printf("%s\n", scenario_.description.c_str());
    for (const std::string& remark : scenario_.remarks)
      std::fprintf(stderr, "empi-tsunami: %s\n", remark.c_str());
  }

 private:
  // A place in the sea may be in a cell whose mean is land: its height is no sea level.
  void expect_gauges_in_water() {
    solver_.sample_gauges();
    for (std::size_t g = 0; g < scenario_.gauges.size(); ++g) {
      auto& samples = solver_.gauges()[g].samples;
      const swe::GaugeSample sample = samples.back();
      samples.clear();
      if (sample.depth > 0) continue;
      const tsunami::Gauge& gauge = scenario_.gauges[g];
      throw io::FileError("gauge " + gauge.id,
                          tsunami::degrees(gauge.lon) + " E, " + tsunami::degrees(gauge.lat) + " N",
                          "a cell with water",
                          "one of level " + tsunami::degrees(sample.level) + " that is land of " +
                              tsunami::degrees(sample.eta) + " m in the mean",
                          "move it, or have finer cells there: --gauge-level, --coast, --finest");
    }
  }

  void register_data() {
    loop_.replicate(clock_, case_);
    for (auto& series : series_) loop_.replicate(series);
    // A second child never begins a part: siblings stay together, so that they can be joined again.
    loop_.sequence<swe::Element>(solver_.elements(), nullptr,
                                 [](const swe::Element& e) { return !e.leaf.is_second(); });
    loop_.data([this](MPI_Comm everybody, double capacity) { return maxima_.move(everybody, capacity); },
               [this] { maxima_.accept(); }, [this] { return maxima_.save(); },
               [this](MPI_Comm, const auto& parts) { maxima_.load(parts); });
    const auto take_out = [this] {
      if (loop_.recovering()) return maxima_.forget();  // in the midst of a step or of a new mesh
      maxima_.settle(solver_);
      solver_.elements();
      for (std::size_t g = 0; g < series_.size(); ++g) series_[g] = solver_.gauges()[g].samples;
    };
    loop_.on_release(take_out);
    loop_.on_save(take_out);
    loop_.checkpoint();  // where and how often is the job's matter (spec.checkpoint)
    loop_.recoverable();
    loop_.on_rebuild([this, starts = !loop_.joining()](MPI_Comm world) mutable {
      if (std::exchange(starts, false)) start_series(world);
      if (loop_.recovering()) io::on_first_rank(world, [&] { io::cut_progress(options_.out, clock_.time); });
      solver_.set_clock(clock_.time, clock_.steps);
      solver_.set_came_in(clock_.volume_came_in);
      if (clock_.steps > 0)
        for (std::size_t g = 0; g < series_.size(); ++g) solver_.gauges()[g].samples = series_[g];
      solver_.rebuild(world);
      // Later on it has been noted: what a mesh that has just changed has in its place is no step's.
      if (clock_.steps == 0) maxima_.note(solver_);
    });
  }

  // What goes on from a checkpoint continues what was written until then.
  void start_series(MPI_Comm world) {
    io::on_first_rank(world, [&] {
      if (!loop_.restored()) return tsunami::clear_series(options_.out);
      io::expect_same_case(case_, tsunami::name_case(options_, scenario_));
      io::cut_progress(options_.out, clock_.time);
    });
  }

  void snapshot(MPI_Comm world) {
    char name[32];
    std::snprintf(name, sizeof name, "snapshot-%04d.vtkhdf", clock_.snapshots++);
    tsunami::write_snapshot(world, solver_, scenario_.description, options_.out, name);
    io::on_first_rank(world, [&] { tsunami::write_gauges(options_.out, scenario_, solver_.gauges()); });
    clock_.next_snapshot = options_.snapshot_every * clock_.snapshots;
  }

  // Computing, of a step of this rank: beside its messages. What one sleep lasts too long the next is
  // shorter.
  void emulate_slow_cells() {
    using Clock = std::chrono::steady_clock;
    owed_ += std::chrono::microseconds(options_.serial_time_us +
                                       static_cast<std::int64_t>(solver_.cells()) * options_.cell_time_us);
    const auto begin = Clock::now();
    std::this_thread::sleep_for(owed_);
    owed_ = std::max<Clock::duration>(owed_ - (Clock::now() - begin), -kLongestLate);
  }

  std::int64_t all_cells(MPI_Comm world) const {
    return static_cast<std::int64_t>(mesh::total(world, static_cast<double>(solver_.cells())));
  }

  void show_progress(MPI_Comm world, bool last) {
    io::Progress progress{clock_.time, options_.end, clock_.steps, 0, 0};
    progress.cells = clock_.cells;
    MPI_Comm_size(world, &progress.ranks);
    io::on_first_rank(world, [&] {
      io::write_progress(options_.out, progress, last);
      // Where no snapshot does.
      const auto now = std::chrono::steady_clock::now();
      if (options_.snapshot_every > 0 || now < gauges_due_) return;
      gauges_due_ = now + std::chrono::seconds(10);
      tsunami::write_gauges(options_.out, scenario_, solver_.gauges());
    });
  }

  elastic::Loop& loop_;
  const Options& options_;
  tsunami::Scenario scenario_;
  swe::Parameters setup_;
  Solver solver_;
  tsunami::Maxima maxima_;
  Clock clock_;
  std::vector<std::vector<swe::GaugeSample>> series_;  // per gauge
  std::string case_;                                   // that a checkpoint is of
  std::int64_t reported_ = 0;
  tsunami::TaskClock tasks_;
  bool iterated_ = false;
  std::chrono::steady_clock::time_point gauges_due_{};
  std::chrono::nanoseconds owed_{0};  // of emulated computing
  static constexpr std::chrono::nanoseconds kLongestLate =
      std::chrono::milliseconds(100);  // that is made up for
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = tsunami::parse_options(argc, argv);
  elastic::Loop loop(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    tsunami::Scenario scenario;
    io::prepare(loop.joining(), [&] { scenario = tsunami::make_scenario(options); });
    const auto compute = [&]<class Solver>(std::type_identity<Solver>) {
      Run<Solver> run(loop, options, std::move(scenario));
      if (rank == 0 && !loop.joining()) run.introduce();
      loop.run([&](MPI_Comm world) { return run.iterate(world); });
      if (!loop.left()) run.finish(MPI_COMM_WORLD);
    };
    if (options.storage == "single")
      compute(std::type_identity<swe::SingleSolver>());
    else
      compute(std::type_identity<swe::Solver>());
  } catch (const io::FileError& error) {
    return io::refuse("empi-tsunami", error, loop.joining());
  } catch (const swe::StateError& error) {
    io::refuse("empi-tsunami", error, false);
    return 1;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// bench spe10-pressure and spe10-step.
//   bench_reservoir pressure [LAYERS...]: our pressure step, two triangles in each block of the field, over
//     hypre alone (assemble, setup, solve) on the same system, and over hypre on the seven-point matrix of
//     these blocks; iterations of both.
//   bench_reservoir step: seconds per step of the bottom 16 layers, adapted and on the full mesh.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/io/run_folder.hpp"
#include "apps/spe10/app/scenario.hpp"
#include "apps/spe10/testing/seven_point.hpp"

namespace {

using namespace spe10;

Scenario scenario(int layers, int coarsest, int finest) {
  Options options;
  options.data = io::data_folder();
  options.layers = layers, options.coarsest = coarsest, options.finest = finest;
  Scenario s = make_scenario(options);
  std::fprintf(stderr, "note: %s, mesh levels %d to %d\n", s.description.c_str(), coarsest, finest);
  return s;
}

// Fastest of the rounds, each with an object of its own.
double seconds_of(const SparseRows& rows, const std::vector<double>& guess, const SolverOptions& options,
                  const char* what) {
  LinearSolver solver(MPI_COMM_WORLD, options);
  std::vector<double> x(guess);
  const double begin = MPI_Wtime();
  const SolveReport report = solver.solve(rows, x);
  const double seconds = MPI_Wtime() - begin;
  std::fprintf(stderr, "note: %s %.2f s (%d iterations: assemble %.2f, setup %.2f, solve %.2f)\n", what,
               seconds, report.iterations, report.seconds_assemble, report.seconds_setup,
               report.seconds_solve);
  return seconds;
}

void bench_pressure(int layers) {
  const Scenario s = scenario(layers, 4, 4);
  const SparseRows points = seven_point(*s.field, MPI_COMM_WORLD);
  Simulator sim(s.setup);
  sim.start(MPI_COMM_WORLD);
  double ours = 1e300, alone = 1e300, reference = 1e300;
  int iterations = 0;
  const int rounds = layers > 40 ? 2 : 3;
  for (int round = 0; round < rounds; ++round) {
    sim.release();  // so that numbering, matrix and hierarchy are made anew
    const StepReport step = sim.step(0.5);
    ours = std::min(ours, step.seconds_pressure);
    iterations = step.iterations;
    std::fprintf(stderr, "note: %lld rows: ours %.2f s (%d solves, %d iterations)\n",
                 static_cast<long long>(sim.pressure()->rows()), step.seconds_pressure, step.pressure_solves,
                 step.iterations);
    alone = std::min(alone, seconds_of(sim.pressure()->system(), sim.pressure()->first_guess(),
                                       s.setup.solver, "hypre alone"));
    reference = std::min(reference, seconds_of(points, std::vector<double>(points.count(), 0), {},
                                               "hypre on the seven-point matrix"));
  }
  std::printf("bench spe10-pressure.ratio.%d %.3f ratio\n", layers, ours / alone);
  std::printf("bench spe10-pressure.vs_points.%d %.3f ratio\n", layers, ours / reference);
  if (layers != 16) return;
  std::printf("bench spe10-pressure.iterations %d iterations\n", iterations);
  LinearSolver solver(MPI_COMM_WORLD, {});
  std::vector<double> x(points.count(), 0);
  std::printf("bench spe10-pressure.iterations.seven-point %d iterations\n",
              solver.solve(points, x).iterations);
}

void bench_step(const char* name, int coarsest) {
  const Scenario s = scenario(16, coarsest, 4);
  Simulator sim(s.setup);
  sim.start(MPI_COMM_WORLD);
  for (int n = 0; n < 4; ++n) sim.step(1), sim.adapt();
  constexpr int steps = 6;
  double pressure = 0, transport = 0;
  const double begin = MPI_Wtime();
  for (int n = 0; n < steps; ++n) {
    const StepReport step = sim.step(1);
    pressure += step.seconds_pressure, transport += step.seconds_transport;
    if (n == steps / 2) sim.adapt();
  }
  std::fprintf(stderr, "note: %zu columns, pressure %.2f s, transport %.2f s per step\n", sim.columns().own(),
               pressure / steps, transport / steps);
  std::printf("bench spe10-step.%s %.3f s\n", name, (MPI_Wtime() - begin) / steps);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && std::strcmp(argv[1], "step") == 0) {
    bench_step("adapted", 2);
    bench_step("full", 4);
  } else {
    for (int a = 2; a < argc; ++a) bench_pressure(std::clamp(std::atoi(argv[a]), 1, 85));
    if (argc <= 2) bench_pressure(16), bench_pressure(85);
  }
  MPI_Finalize();
}

// SPDX-License-Identifier: Apache-2.0
#include "apps/io/report_program.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "apps/io/report.hpp"

namespace io {

int report_main(const ReportProgram& program, int argc, char** argv) {
  namespace options = empi::options;
  std::string dir;
  std::vector<std::string> others;
  int job = 0;
  bool paraview = false;
  options::OptionList all = {
      {"DIR", &dir, "folder with the results", {.check = options::existing_folder(), .required = true}}};
  if (program.write_paraview)
    all.push_back({"--vtu", &paraview, "also write .vtu, .pvtu and .pvd for ParaView"});
  if (program.compares)
    all.push_back({"--compare",
                   &others,
                   "other runs: DIR/profiles.png shows the workers of all of them",
                   {.check = options::existing_folder()}});
  all.insert(all.end(), program.more.begin(), program.more.end());
  all.push_back({"--follow",
                 &job,
                 "draw what this process writes, a running `empi run`, until it ends",
                 {.check = options::positive()}});
  options::read_or_exit({.what = program.what, .options = all}, argc, argv);
  try {
    if (job > 0) {
      program.draw(dir, Drawing::of_running_job(), [&](const auto& draw) { follow(job, draw); });
    } else {
      std::vector<std::filesystem::path> runs{dir};
      runs.insert(runs.end(), others.begin(), others.end());
      if (runs.size() > 1) draw_profiles(runs);  // before the page that shows it
      program.draw(dir, Drawing::of_ended_run(), [](const auto& draw) { draw(); });
      if (paraview) program.write_paraview(dir);
      print_pictures(dir, program.page);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.name, error.what());
    return 2;
  }
}

}  // namespace io

// SPDX-License-Identifier: Apache-2.0
// What the empi-*-report programs have in common: the folder, --follow, and how an error ends them.
#pragma once
#include <filesystem>
#include <functional>

#include "apps/io/follow.hpp"
#include "apps/io/run_page.hpp"
#include "runtime/base/options.hpp"

namespace io {

struct ReportProgram {
  const char* name;  // in front of an error
  const char* what;  // for --help
  PageText page;     // names the pictures of a run that has ended, which are listed at the end
  empi::options::OptionList more = {};  // beside DIR, --follow and --vtu
  /// Draws what there is in the folder each time that `repeat` calls the function it is given: once of a run
  /// that has ended, again and again of one that is running.
  std::function<void(const std::filesystem::path& dir, Drawing drawing,
                     const std::function<void(const std::function<void()>&)>& repeat)>
      draw;
  /// Files for ParaView, of a run that has ended. Programs that can write them have an option --vtu.
  std::function<void(const std::filesystem::path& dir)> write_paraview = {};
  /// Has an option --compare, for runs with a cells.csv.
  bool compares = false;
};

/// The whole program; its exit status: 0, or 2 when something is wrong, which is said in one line.
int report_main(const ReportProgram& program, int argc, char** argv);

}  // namespace io

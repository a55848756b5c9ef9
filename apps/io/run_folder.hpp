// SPDX-License-Identifier: Apache-2.0
// What every application leaves in the folder of its run, for people, `empi run` and the reports.
#pragma once
#include <cstdint>
#include <regex>
#include <string>

namespace io {

double wall_clock();                    ///< s since 1970
std::string hex(std::uint64_t number);  ///< 16 digits

/// Where results go unless a program is told otherwise: the folder that `empi run` has named, else this one.
std::string default_folder();
/// Where the measured data are, "" when nobody has said so.
std::string data_folder();

/// Makes the folder if it is not there, and removes the files in it whose whole name matches `ours`, so that
/// results of two runs never mix; not the file `keep`. An SVG goes with the PNG of its name, beside which
/// draw::write_both leaves it. Throws FileError.
void clear_folder(const std::string& folder, const std::regex& ours, const std::string& keep = "");

/// How far a simulation on a changing mesh is.
struct Progress {
  double seconds = 0, end = 0;  ///< simulated
  std::int64_t steps = 0, cells = 0;
  int ranks = 0;
};

/// Writes progress.json, for `empi run`, and appends a line to cells.csv {wall_clock_s, simulated_s, cells,
/// ranks}. At most once in half a second unless `force`. Throws FileError.
void write_progress(const std::string& folder, const Progress& progress, bool force = false);

/// For a run that goes on from a checkpoint of this simulated time, s: drops the lines of cells.csv that are
/// of later. Throws FileError.
void cut_progress(const std::string& folder, double seconds);
/// The same: `checkpoint`, `run`: what their results depend on, parts with "; " between them. If they differ,
/// throws FileError, with the parts that do.
void expect_same_case(const std::string& checkpoint, const std::string& run);

}  // namespace io

// SPDX-License-Identifier: Apache-2.0
// A wave that comes in from the sea through a border of the domain, as a user's file gives it.
#pragma once
#include <string>

#include "apps/io/input_file.hpp"
#include "apps/tsunami/io/gauge.hpp"

namespace io {

/// Two columns, seconds since the start and the height of the surface above rest in metres, with blanks, tabs
/// or a comma between them; times ascending, the last one above 0.
/// The first line may name the columns, in words (as NTHMP's Benchmark_2_input.txt does); lines that start
/// with # are remarks. Serial. Throws FileError, with the line, for anything else: unlike a gauge's record, a
/// wave is computed with, so nothing in it is sorted, averaged or left out.
TimeSeries read_wave(const InputFile& file);
inline TimeSeries read_wave(const std::string& path) { return read_wave(InputFile(path)); }

/// Its height at a time (s), linear between two samples; 0 before the first and after the last.
double height_at(const TimeSeries& wave, double time);

}  // namespace io

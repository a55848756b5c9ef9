// SPDX-License-Identifier: Apache-2.0
// The sea floor and the land of a run in one resolution, for pictures: where nothing happens, cells are far
// too coarse to show a coast.
#pragma once
#include <string>

#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/app/scenario.hpp"
#include "apps/tsunami/io/raster.hpp"

namespace tsunami {

// The file in a run's folder.
inline constexpr char kGroundFile[] = "ground.bin";

// Samples the bed over the domain, 240 intervals along its longer side, and writes it (renamed when
// complete). Throws io::FileError.
void write_ground(const std::string& path, const Options& options, const Scenario& scenario);

// Throws io::FileError.
io::Raster read_ground(const std::string& path);

}  // namespace tsunami

// SPDX-License-Identifier: Apache-2.0
// The rasters of a case: found, read, turned into the domain's longitudes, and held to cover it. Serial; all
// throw io::FileError.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/tsunami/app/options.hpp"
#include "apps/tsunami/io/raster.hpp"
#include "apps/tsunami/solver/cell_average.hpp"

namespace tsunami {

/// What FileErrors advise where a file of the measured data may be missing.
inline constexpr const char* kFetchData = "scripts/fetch_data.sh gets the data of chile2010 and tohoku2011";

/// The file as it is named, or else in the data folder.
std::string found_file(const std::string& name, const Options& options,
                       const std::string& advice = kFetchData);

/// "%g", and "WEST..EAST E, SOUTH..NORTH N".
std::string degrees(double value);
std::string words(const io::Region& region);

/// Throws where latitudes are none, as in a raster in metres.
void expect_degrees(const std::string& path, const io::Raster& raster);

using Rasters = std::vector<std::shared_ptr<const io::Raster>>;

/// Elevations, m, in order of priority: each lies in the domain, the last covers it. Of a global netCDF file
/// only the domain is read.
Rasters read_bathymetry(const std::vector<std::string>& paths, const io::Region& domain);

/// What `value` says between the points of rasters, which says how near they are: cells need not look closer.
swe::Function between_points(swe::Function value, const Rasters& rasters);

/// Manning's n (s/m^(1/3)) by place: of the options' file, bilinear between its points, which must cover the
/// domain or lie in it with a number for elsewhere. Empty, and 0, without a file.
struct Roughness {
  swe::Function n;
  std::uint64_t hash = 0;  // of what is in the file
};
Roughness read_manning(const Options& options, const io::Region& domain);

}  // namespace tsunami

// SPDX-License-Identifier: Apache-2.0
// The formats behind read_topography(), one function each. All throw FileError.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "apps/tsunami/io/raster.hpp"
#include "apps/tsunami/io/topography.hpp"

namespace io {

/// At most `size` bytes from the start of a readable, non-empty file.
std::vector<char> read_head(const std::string& path, std::size_t size);

Raster read_ascii_raster(const std::string& path, const TopographyOptions& options);
Raster read_netcdf_raster(const std::string& path, const TopographyOptions& options);
Raster read_binary_raster(const std::string& path, const TopographyOptions& options);

}  // namespace io

// SPDX-License-Identifier: Apache-2.0
// Which names parameters may have. They become columns of samples.csv and variables of posterior.nc, which
// are written last: what those do not take is refused before the first forward run.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "apps/surrogate/app/inversion.hpp"

namespace surrogate {

struct BadName {
  std::size_t parameter = 0;  ///< its index
  std::string expected, found;
};

/// The first name that cannot be written; nothing when all can.
std::optional<BadName> find_bad_name(std::span<const Parameter> parameters);

/// The name in posterior.nc: '/' is the one accepted sign that netCDF does not take.
std::string name_in_netcdf(std::string name);

}  // namespace surrogate

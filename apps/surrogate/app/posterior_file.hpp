// SPDX-License-Identifier: Apache-2.0
// The samples of the posterior for ArviZ, a Python package that examines and draws such samples.
#pragma once
#include <string>

#include "apps/surrogate/app/inversion.hpp"

namespace surrogate {

/// The samples as InferenceData (Kumar, Carroll, Hartikainen, Martin: ArviZ, JOSS 4, 2019; its schema 0.5) in
/// netCDF-4, as arviz.from_netcdf() reads it: posterior[chain, draw], a chain being an ensemble's coldest, in
/// the parameters' own units; sample_stats.lp; observed_data. Appears whole. Throws io::FileError.
void write_posterior(const std::string& path, const Inversion& inversion);

}  // namespace surrogate

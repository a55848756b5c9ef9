// SPDX-License-Identifier: Apache-2.0
// Permeability and porosity on a grid of blocks: the SPE10 model 2 data set, or a seeded log-normal field.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace spe10 {

// nx x ny x nz blocks, x fastest, then y, then layer (0 = top). Horizontal permeability is the same in x and
// y.
struct Field {
  int nx = 0, ny = 0, nz = 0;
  double dx = 20, dy = 10, dz = 2;  // ft
  std::vector<float> kh, kv;        // mD
  std::vector<float> phi;           // fraction; empty: constant_phi
  double constant_phi = 0.2;
  std::string description;  // one line: what it is, and what of it is synthetic

  std::size_t at(int i, int j, int k) const {
    return (static_cast<std::size_t>(k) * static_cast<std::size_t>(ny) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(nx) +
           static_cast<std::size_t>(i);
  }
  double porosity(std::size_t block) const { return phi.empty() ? constant_phi : phi[block]; }
};

inline constexpr int kSpe10Nx = 60, kSpe10Ny = 220, kSpe10Nz = 85;

// True if the folder holds the data set, as spe_perm.dat or re-packed (docs/spe10.md).
bool has_spe10(const std::string& folder);

// The bottom `layers` of SPE10 model 2 (1..85). Porosity is spe_phi.dat where it is there, else the constant.
// Serial. Throws io::FileError with file, line or byte, and what to do.
Field read_spe10(const std::string& folder, int layers);

// Log-normal permeability, correlated over a few blocks (shorter in the vertical), about as heterogeneous as
// the upper layers of SPE10: the same for the same seed on every machine.
Field synthetic_field(int nx, int ny, int nz, std::uint64_t seed);

}  // namespace spe10

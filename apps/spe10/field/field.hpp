// SPDX-License-Identifier: Apache-2.0
// Permeability and porosity on a grid of blocks: the SPE10 model 2 data set, a field of the user's in an
// Eclipse deck, or a seeded log-normal field.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spe10 {

// nx x ny x nz blocks of one size, x fastest, then y, then layer (0 = top).
struct Field {
  int nx = 0, ny = 0, nz = 0;
  double dx = 20, dy = 10, dz = 2;  // ft
  std::vector<float> kx, kz;        // mD
  std::vector<float> ky;            // empty: as kx
  std::vector<float> phi;     // fraction; empty: constant_phi. 0: inactive, nothing flows through the block
  std::optional<double> top;  // ft, depth of the first layer's top; none: the deck says
  double constant_phi = 0.2;
  std::string description;  // one line: what it is, and what of it is synthetic

  std::size_t at(int i, int j, int k) const {
    return (static_cast<std::size_t>(k) * static_cast<std::size_t>(ny) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(nx) +
           static_cast<std::size_t>(i);
  }
  double porosity(std::size_t block) const { return phi.empty() ? constant_phi : phi[block]; }
  bool active(std::size_t block) const { return porosity(block) > 0; }
  float along_y(std::size_t block) const { return ky.empty() ? kx[block] : ky[block]; }
};

inline constexpr int kSpe10Nx = 60, kSpe10Ny = 220, kSpe10Nz = 85;

// True if the folder holds the data set, as spe_perm.dat or re-packed (docs/spe10.md).
bool has_spe10(const std::string& folder);

// The bottom `layers` of SPE10 model 2 (1..85). Porosity is spe_phi.dat where it is there, else the constant.
// Serial. Throws io::FileError with file, line or byte, and what to do.
Field read_spe10(const std::string& folder, int layers);

// The field of an Eclipse deck, or of a part of one: what comes before PROPS of DIMENS, DX, DY, DZ (DXV, DYV,
// DZV), TOPS, PERMX, PERMY, PERMZ, PORO, ACTNUM, COPY, MULTIPLY and INCLUDE, in field units. Other keywords
// of its GRID section are refused, so that nothing that was meant is left out. Serial. Throws io::FileError
// with file and line.
Field read_grid(const std::string& path);

// Transport is explicit: its substeps are as short as a block's pores are small for what flows through.
// Blocks of less than kNoPores become inactive, as MINPV does elsewhere, and those of less than
// kLeastPorosity get that. Says in the description how many. Local.
inline constexpr float kNoPores = 1e-4F, kLeastPorosity = 0.01F;
void bound_porosity(Field& field);

// Of all that flow depends on: the same on every machine.
std::uint64_t hash_of(const Field& field);

// Log-normal permeability, correlated over a few blocks (shorter in the vertical), about as heterogeneous as
// the upper layers of SPE10: the same for the same seed on every machine.
Field synthetic_field(int nx, int ny, int nz, std::uint64_t seed);

}  // namespace spe10

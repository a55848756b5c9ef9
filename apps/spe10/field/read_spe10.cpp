// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "apps/io/file_error.hpp"
#include "apps/io/packed_file.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/spe10/field/field.hpp"

namespace spe10 {
namespace {

namespace fs = std::filesystem;
using io::FileError;

constexpr const char* kFetchAgain = "get the file again (docs/spe10.md says where from)";
constexpr std::size_t kLayerBlocks = static_cast<std::size_t>(kSpe10Nx) * kSpe10Ny;
constexpr std::size_t kAllBlocks = kLayerBlocks * kSpe10Nz;
constexpr float kLargestMilliDarcy = 1e6F;

// NAME.bin, or NAME.bin.xz.
io::PackedFile packed_file(const std::string& path, std::size_t wanted) {
  io::PackedFile file = io::read_packed(path, kFetchAgain);
  if (file.bytes.size() != wanted)
    throw FileError::at_byte(file.path, std::min(file.bytes.size(), wanted),
                             std::to_string(wanted) + " bytes", std::to_string(file.bytes.size()),
                             kFetchAgain);
  return file;
}

void check_permeability(const std::string& path, std::size_t block, float k) {
  if (std::isfinite(k) && k > 0 && k < kLargestMilliDarcy) return;
  throw FileError::at_byte(path, 4 * block, "a permeability in mD, above 0 and below 1e6", std::to_string(k),
                           kFetchAgain);
}

void read_packed(const std::string& folder, Field& field, std::size_t first) {
  const auto [kx_path, kx] = packed_file(folder + "/spe10_kx_mD_f32le.bin", 4 * kAllBlocks);
  const auto [bits_path, bits] = packed_file(folder + "/spe10_kvclass_bits.bin", (kAllBlocks + 7) / 8);
  static_assert(std::endian::native == std::endian::little);
  for (std::size_t b = 0; b < field.kx.size(); ++b) {
    const std::size_t block = first + b;
    std::memcpy(&field.kx[b], kx.data() + 4 * block, 4);
    check_permeability(kx_path, block, field.kx[b]);
    const bool channel = (static_cast<unsigned char>(bits[block / 8]) >> (block % 8) & 1) != 0;
    field.kz[b] = field.kx[b] * (channel ? 0.3F : 1e-4F);
  }
}

// Numbers of a text file, all of it; `name` says what they are.
void read_numbers(const std::string& path, const char* name, std::size_t count, double lowest, double highest,
                  const std::function<void(std::size_t, double)>& take) {
  const auto bytes = io::read_bytes(path);
  io::TextScanner text(path, {bytes.data(), bytes.size()});
  for (std::size_t n = 0; n < count; ++n) {
    const double value = text.next_number(
        [&] { return std::string(name) + " " + std::to_string(n + 1) + " of " + std::to_string(count); });
    if (value < lowest || value > highest)
      throw FileError::at_line(path, text.line(),
                               std::string(name) + " " + std::to_string(n + 1) + " of " +
                                   std::to_string(count) + " from " + std::to_string(lowest) + " to " +
                                   std::to_string(highest),
                               std::to_string(value), kFetchAgain);
    take(n, value);
  }
  if (const auto more = text.next_word())
    throw FileError::at_line(path, text.line(), "the end after " + std::to_string(count) + " numbers",
                             "'" + std::string(*more) + "'", "this is not the SPE10 file");
}

// kx of all blocks, then ky, then kz.
void read_published(const std::string& path, Field& field, std::size_t first) {
  read_numbers(path, "permeability", 3 * kAllBlocks, 1e-12, kLargestMilliDarcy, [&](std::size_t n, double k) {
    const std::size_t block = n % kAllBlocks;
    if (block < first) return;
    std::vector<float>& to = n < kAllBlocks ? field.kx : n < 2 * kAllBlocks ? field.ky : field.kz;
    to[block - first] = static_cast<float>(k);
  });
}

}  // namespace

bool has_spe10(const std::string& folder) {
  for (const char* name : {"spe_perm.dat", "spe10_kx_mD_f32le.bin", "spe10_kx_mD_f32le.bin.xz"})
    if (fs::exists(folder + "/" + name)) return true;
  return false;
}

Field read_spe10(const std::string& folder, int layers) {
  Field field;
  field.nx = kSpe10Nx, field.ny = kSpe10Ny, field.nz = layers;
  const std::size_t blocks = kLayerBlocks * static_cast<std::size_t>(layers), first = kAllBlocks - blocks;
  field.kx.resize(blocks), field.kz.resize(blocks);
  const bool published = fs::exists(folder + "/spe_perm.dat");
  if (published) field.ky.resize(blocks);
  if (published)
    read_published(folder + "/spe_perm.dat", field, first);
  else
    read_packed(folder, field, first);
  const std::string phi = folder + "/spe_phi.dat";
  const bool has_phi = fs::exists(phi);
  if (has_phi) {
    field.phi.resize(blocks);
    read_numbers(phi, "porosity", kAllBlocks, 0, 1, [&](std::size_t n, double value) {
      if (n >= first) field.phi[n - first] = static_cast<float>(value);
    });
  }
  field.description = "SPE10 model 2, bottom " + std::to_string(layers) + " of 85 layers, " +
                      (has_phi ? "porosity of spe_phi.dat" : "SYNTHETIC porosity of 0.2 everywhere");
  bound_porosity(field);
  return field;
}

}  // namespace spe10

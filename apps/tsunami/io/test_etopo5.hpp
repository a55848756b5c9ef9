// SPDX-License-Identifier: Apache-2.0
// ETOPO5 in tests: all of it, as scripts/fetch_data.sh gets it, or its part of the northern Pacific, which is
// kept packed.
#pragma once
#include <filesystem>
#include <string>

#include "apps/io/packed_file.hpp"
#include "apps/io/test_files.hpp"

namespace io::test {

/// The part, unpacked into `folder`; "" when it is not on this machine.
inline std::string etopo5_part(const ScratchFolder& folder) {
  const std::string header = data_file("tohoku2011/etopo5_npac_i16le.txt");
  if (header.empty()) return "";
  const std::string raster = std::filesystem::path(header).replace_extension(".bin").string();
  if (!std::filesystem::exists(raster) && !std::filesystem::exists(raster + ".xz")) return "";
  const PackedFile part = read_packed(raster, "fetch it again");
  const auto head = read_bytes(header);
  folder.write("etopo5_npac_i16le.txt", {head.data(), head.size()});
  return folder.write("etopo5_npac_i16le.bin", {part.bytes.data(), part.bytes.size()});
}

/// All of it, or else the part.
inline std::string etopo5(const ScratchFolder& folder) {
  const std::string all = data_file("tohoku2011/etopo5.cdf");
  return all.empty() ? etopo5_part(folder) : all;
}

}  // namespace io::test

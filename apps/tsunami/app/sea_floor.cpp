// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/sea_floor.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "apps/io/file_error.hpp"
#include "apps/tsunami/io/topography.hpp"
#include "runtime/base/text.hpp"

namespace tsunami {
namespace {

// m, beyond what is found on earth: there a file means that it has no value, and does not say so
// (-32768, 9.97e36).
constexpr double kLowest = -12000, kHighest = 10000;

// A raster in the domain's longitudes, and how it lies to the domain. Values stand for what is around them:
// half a spacing beyond the last one is forgiven.
struct Placed {
  Placed(const std::string& path, std::unique_ptr<io::Raster> read, const io::Region& domain)
      : file(read->region()) {
    expect_degrees(path, *read);
    read->x0 += io::nearest_turn(file.west, file.east, domain.west, domain.east);
    const io::Region box = read->region();
    const double dx = 0.5001 * read->dx, dy = 0.5001 * read->dy;
    reach = {box.west - dx, box.east + dx, box.south - dy, box.north + dy};
    covers = reach.west <= domain.west && reach.east >= domain.east && reach.south <= domain.south &&
             reach.north >= domain.north;
    touches = box.west < domain.east && box.east > domain.west && box.south < domain.north &&
              box.north > domain.south;
    raster = std::move(read);
  }
  std::shared_ptr<const io::Raster> raster;
  io::Region file, reach;  // of its points as they are in the file; where its values count
  bool covers, touches;
};

}  // namespace

std::string found_file(const std::string& name, const Options& o, const std::string& advice) {
  if (std::filesystem::exists(name)) return name;
  const std::filesystem::path there = std::filesystem::path(o.data) / name;
  if (!o.data.empty() && std::filesystem::exists(there)) return there.string();
  throw io::FileError(name, "", "a file" + (o.data.empty() ? "" : ", here or in " + o.data), "none", advice);
}

void expect_degrees(const std::string& path, const io::Raster& raster) {
  const io::Region box = raster.region();
  const double slack = std::min(raster.dy, 1.0);
  if (box.south >= -90 - slack && box.north <= 90 + slack) return;
  throw io::FileError(path, "", "latitudes from -90 to 90 degrees",
                      degrees(box.south) + " to " + degrees(box.north),
                      "if these are metres, give the places in degrees (gdalwarp -t_srs EPSG:4326)");
}

std::string degrees(double value) { return empi::format("%g", value); }

std::string words(const io::Region& r) {
  return degrees(r.west) + ".." + degrees(r.east) + " E, " + degrees(r.south) + ".." + degrees(r.north) +
         " N";
}

Rasters read_bathymetry(const std::vector<std::string>& paths, const io::Region& domain) {
  Rasters rasters;
  io::TopographyOptions how{.region = domain, .fill = {}};
  how.quantity.least = kLowest, how.quantity.most = kHighest;
  for (const std::string& path : paths) {
    const Placed placed(path, io::read_topography(path, how), domain);
    if (path == paths.back() ? !placed.covers : !placed.touches)
      throw io::FileError(
          path, "",
          std::string("elevations that ") + (placed.touches ? "cover" : "lie in") + " the domain, " +
              words(domain),
          words(placed.file),
          "choose --west, --east, --south, --north inside of it, or add a last --topography that covers the "
          "domain");
    rasters.push_back(placed.raster);
  }
  return rasters;
}

swe::Function between_points(swe::Function value, const Rasters& rasters) {
  const auto spacing = [rasters](double west, double east, double south, double north) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& raster : rasters) {
      const io::Region box = raster->region();
      if (west <= box.east && east >= box.west && south <= box.north && north >= box.south)
        least = std::min({least, raster->dx, raster->dy});
    }
    return least;
  };
  return swe::Interpolated{std::move(value), spacing};
}

Roughness read_manning(const Options& o, const io::Region& domain) {
  const ManningOption& m = o.manning;
  if (m.file.empty()) return {};
  const std::string path =
      found_file(m.file, o, "--manning takes a number in s/m^(1/3) or a raster, FILE[:N]");
  io::TopographyOptions how{
      .region = domain,
      .fill = {},
      .quantity = {"Manning's n", {"manning", "n", "roughness", "Band1", "z"}, 0, 1},
  };
  if (m.elsewhere) how.fill = m.n;
  const Placed placed(path, io::read_topography(path, how), domain);
  if (m.elsewhere ? !placed.touches : !placed.covers)
    throw io::FileError(
        path, "",
        std::string("Manning's n that ") + (placed.touches ? "covers" : "lies in") + " the domain, " +
            words(domain),
        words(placed.file),
        placed.touches
            ? "say which n holds elsewhere, --manning FILE:N, or give a file that covers the domain"
            : "choose the domain (--west ...) or the file of one place");
  const auto at = [raster = placed.raster, reach = placed.reach, n = m.n, elsewhere = m.elsewhere](
                      double lon, double lat) {
    return elsewhere && !reach.contains(lon, lat) ? n : raster->at(lon, lat);
  };
  return {at, io::hash_of(*placed.raster)};
}

}  // namespace tsunami

// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/maxima.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <elastic_mpi/comm.hpp>
#include <limits>
#include <stdexcept>

#include "apps/io/collective_try.hpp"
#include "apps/io/netcdf_writer.hpp"

namespace tsunami {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr double kArrival = 0.01;    // m from rest
constexpr double kLeastDepth = 0.1;  // m: in less, speeds are those of a film of water
constexpr double kFill = -9999;

}  // namespace

Maxima::Maxima(const Options& options, const swe::Parameters& setup, const swe::Metric& metric)
    : west_(options.west),
      south_(options.south),
      spacing_(options.maxima),
      sea_level_(setup.sea_level),
      dry_(setup.physics.dry_tolerance),
      radius_(setup.frame.radius) {
  if (spacing_ <= 0) return;
  const auto places = [&](double length) {
    return static_cast<std::size_t>(std::max(1.0, std::floor(length / spacing_ + 1e-9)));
  };
  nx_ = places(options.east - options.west);
  ny_ = places(options.north - options.south);
  points_.reserve(nx_ * ny_);
  for (std::size_t j = 0; j < ny_; ++j)
    for (std::size_t i = 0; i < nx_; ++i) {
      const double lon = west_ + (static_cast<double>(i) + .5) * spacing_;
      const double lat = south_ + (static_cast<double>(j) + .5) * spacing_;
      if (const auto leaf = setup.domain.locate(metric.x4(lon), metric.y4(lat), setup.finest))
        points_.push_back({leaf->key(), j * nx_ + i});
    }
  std::ranges::sort(points_, {}, &Point::key);
  Values nothing;
  nothing.fill(kNothing);
  raster_.assign(nx_ * ny_, nothing);
}

void Maxima::merge(Values& into, const Values& other) {
  for (std::size_t f = 0; f < kFields; ++f) into[f] = std::max(into[f], other[f]);
}

template <class Stored>
void Maxima::note(const swe::BasicSolver<Stored>& solver) {
  if (!kept()) return;
  if (cells_.size() != solver.cells()) {
    Values nothing;
    nothing.fill(kNothing);
    cells_.assign(solver.cells(), nothing);
  }
  const auto minus_time = static_cast<float>(-solver.time());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const swe::Cell c = solver.cell(i);
    const double depth = c.eta - c.b, eta = c.eta - sea_level_;
    if (!(depth > dry_)) continue;
    Values& values = cells_[i];
    const bool land = c.b > sea_level_;
    const bool arrived = land || std::abs(eta) >= kArrival;
    // Its square: a root for each cell and step would cost as much as all the rest.
    const double speed = depth > kLeastDepth ? (c.hu * c.hu + c.hv * c.hv) / (depth * depth) : kNothing;
    values[kElevation] = std::max(values[kElevation], static_cast<float>(eta));
    values[kSpeed] = std::max(values[kSpeed], static_cast<float>(speed));
    values[kFlood] = std::max(values[kFlood], land ? static_cast<float>(depth) : kNothing);
    values[kMinusArrival] = std::max(values[kMinusArrival], arrived ? minus_time : kNothing);
  }
}

template <class Stored>
void Maxima::settle(const swe::BasicSolver<Stored>& solver) {
  if (cells_.empty()) return;
  const auto leaves = solver.mesh().leaves();
  if (leaves.size() == cells_.size() && !leaves.empty()) {
    auto point = std::ranges::lower_bound(points_, leaves.front().key(), {}, &Point::key);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const std::uint64_t end = leaves[i].key_end();
      for (; point != points_.end() && point->key < end; ++point) merge(raster_[point->place], cells_[i]);
    }
  }
  cells_.clear();
}

void Maxima::forget() { cells_.clear(); }

std::int64_t Maxima::move(MPI_Comm everybody, double capacity) {
  if (!kept()) return 0;
  next_ = raster_;
  int leaves = capacity == 0, any = 0;
  elastic::check_mpi(MPI_Allreduce(&leaves, &any, 1, MPI_INT, MPI_MAX, everybody), "asking who leaves");
  if (any == 0) return 0;
  const auto count = static_cast<int>(next_.size() * kFields);
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, next_.data(), count, MPI_FLOAT, MPI_MAX, everybody),
                     "merging the maxima");
  return leaves != 0 ? static_cast<std::int64_t>(next_.size() * sizeof(Values)) : 0;
}

void Maxima::accept() {
  if (!next_.empty()) raster_ = std::move(next_);
  next_ = {};
}

std::vector<std::byte> Maxima::save() const {
  const auto bytes = std::as_bytes(std::span(raster_));
  return {bytes.begin(), bytes.end()};
}

void Maxima::load(const std::vector<std::span<const std::byte>>& parts) {
  next_ = raster_;
  std::vector<Values> part(raster_.size());
  for (const auto& bytes : parts) {
    if (bytes.size() != part.size() * sizeof(Values))
      throw std::runtime_error("its raster of maxima has another size: --maxima was another one");
    if (part.empty()) continue;
    std::memcpy(part.data(), bytes.data(), bytes.size());
    for (std::size_t k = 0; k < part.size(); ++k) merge(next_[k], part[k]);
  }
}

void Maxima::write(MPI_Comm world, const std::string& path, const std::string& title) const {
  if (!kept()) return;
  std::vector<Values> all = raster_;
  const auto count = static_cast<int>(all.size() * kFields);
  const bool first = elastic::rank_of(world) == 0;
  elastic::check_mpi(
      MPI_Reduce(first ? MPI_IN_PLACE : all.data(), all.data(), count, MPI_FLOAT, MPI_MAX, 0, world),
      "collecting the maxima");
  io::on_first_rank(world, [&] {
    using io::NetcdfWriter;
    NetcdfWriter file(path);
    const int root = file.root();
    file.attribute(root, NetcdfWriter::kGlobal, "Conventions", "CF-1.8");
    file.attribute(root, NetcdfWriter::kGlobal, "title", title);
    file.attribute(root, NetcdfWriter::kGlobal, "source", "empi-tsunami, Elastic MPI");
    const int lat = file.dimension(root, "lat", ny_), lon = file.dimension(root, "lon", nx_);
    const auto axis = [&](int dimension, const char* name, const char* standard, const char* units,
                          double begin, std::size_t size) {
      std::vector<double> middles(size);
      for (std::size_t k = 0; k < size; ++k) middles[k] = begin + (static_cast<double>(k) + .5) * spacing_;
      const int id = file.variable(root, name, NetcdfWriter::Type::Double, {dimension});
      file.attribute(root, id, "standard_name", standard);
      file.attribute(root, id, "units", units);
      file.put(root, id, middles);
    };
    axis(lat, "lat", "latitude", "degrees_north", south_, ny_);
    axis(lon, "lon", "longitude", "degrees_east", west_, nx_);
    const int crs = file.variable(root, "crs", NetcdfWriter::Type::Int64, {});
    file.attribute(root, crs, "grid_mapping_name", "latitude_longitude");
    file.attribute(root, crs, "earth_radius", radius_);
    const auto field = [&](Field which, const char* name, const char* meaning, const char* units) {
      const int id = file.variable(root, name, NetcdfWriter::Type::Float, {lat, lon}, kFill);
      file.attribute(root, id, "long_name", meaning);
      file.attribute(root, id, "units", units);
      file.attribute(root, id, "grid_mapping", "crs");
      std::vector<double> values(all.size());
      std::ranges::transform(all, values.begin(), [&](const Values& v) {
        if (v[which] == kNothing) return kFill;
        if (which == kSpeed) return static_cast<double>(std::sqrt(v[which]));
        return static_cast<double>(which == kMinusArrival ? -v[which] : v[which]);
      });
      file.put(root, id, values);
    };
    field(kElevation, "max_elevation", "highest water surface above the level at rest, where it was wet",
          "m");
    field(kSpeed, "max_speed", "highest speed of water deeper than 0.1 m", "m s-1");
    field(kFlood, "max_flood_depth", "deepest water over what lies above the level at rest", "m");
    field(kMinusArrival, "arrival_time",
          "time after the earthquake at which the surface first was 0.01 m from rest, or land was wet", "s");
    file.finish();
  });
}

template void Maxima::note(const swe::Solver&);
template void Maxima::note(const swe::SingleSolver&);
template void Maxima::settle(const swe::Solver&);
template void Maxima::settle(const swe::SingleSolver&);

}  // namespace tsunami

// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/scenario.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "apps/io/file_error.hpp"
#include "apps/io/input_file.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/tsunami/app/sea_floor.hpp"
#include "apps/tsunami/io/analytic_ocean.hpp"
#include "apps/tsunami/io/dtopo.hpp"
#include "apps/tsunami/io/faults.hpp"
#include "apps/tsunami/io/kajiura.hpp"
#include "apps/tsunami/io/okada.hpp"
#include "apps/tsunami/io/wave.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace tsunami {
namespace {

constexpr double kDart32412Lon = -86.392, kDart32412Lat = -17.975;

std::string in_folder(const std::string& folder, const char* name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  return !folder.empty() && std::filesystem::exists(path) ? path.string() : "";
}

// Uplift as a function of place and time.
struct Source {
  std::string name;
  io::Dtopo motion;
  std::uint64_t hash = 0;
};

Source read_source(const Options& o, const std::string& chile) {
  const std::string dtopo = o.dtopo.empty() && o.faults.empty() ? in_folder(chile, "dtopo_usgs100227.tt3")
                            : o.dtopo.empty()                   ? ""
                                                                : found_file(o.dtopo, o);
  if (!dtopo.empty()) {
    const io::InputFile file(dtopo);
    return {dtopo, io::read_dtopo(file), file.hash()};
  }
  // On a raster: Okada's formula is far too slow to be asked for every cell.
  if (!o.faults.empty()) {
    const io::InputFile file(found_file(o.faults, o));
    return {"Okada, " + file.path(), io::rupture(io::read_faults(file)), file.hash()};
  }
  const std::vector<io::Fault> faults = io::maule_2010();
  const io::Region around{-80, -66, -43, -30};
  return {"Okada, Maule 2010",
          {{0},
           {io::sample([&](double lon, double lat) { return io::okada(faults, lon, lat).up; }, around, 281,
                       261)}}};
}

bool has_moved_at_start(const io::Dtopo& motion) {
  return motion.times.back() <= 0 ||
         (motion.times.front() == motion.times.back() && motion.times.back() <= 1);
}

// Of what a run would wait for in vain.
void begins_in_time(const std::string& file, const std::string& what, double begin, double end, double run) {
  if (begin < run) return;
  throw io::FileError(file, "", what + empi::format(" that begins before the run ends, at %g s", run),
                      empi::format("times from %g s to %g s", begin, end),
                      "count them from the start of the run, or take a later --end");
}

// Where the floor moves most must be in the domain.
void check_source(Source& source, const io::Region& domain, std::vector<std::string>& remarks) {
  expect_degrees(source.name, source.motion.frames.back());
  const io::Region box = source.motion.frames.back().region();
  const double turn = io::nearest_turn(box.west, box.east, domain.west, domain.east);
  for (io::Raster& frame : source.motion.frames) frame.x0 += turn;
  const auto farthest = [](const io::Raster& frame) {
    return std::ranges::max_element(frame.z, {}, [](double z) { return std::abs(z); });
  };
  const io::Raster& most = *std::ranges::max_element(
      source.motion.frames, {}, [&](const io::Raster& frame) { return std::abs(*farthest(frame)); });
  const auto node = static_cast<int>(farthest(most) - most.z.begin());
  if (*farthest(most) == 0)
    return remarks.push_back(source.name + " moves the floor by 0 m everywhere: water at rest is computed");
  const int column = node % most.nx, row = node / most.nx;
  const double lon = most.x0 + column * most.dx, lat = most.y0 + row * most.dy;
  if (domain.contains(lon, lat)) return;
  throw io::FileError(source.name, "", "a source in the domain, " + words(domain),
                      "the largest motion at " + degrees(lon) + " E, " + degrees(lat) + " N",
                      "choose the domain (--west ...) or the source (--dtopo, --faults) of one event");
}

// The floor and the surface as the motion leaves them at the start, and how the floor moves from then on.
void add_motion(Scenario& scenario, const swe::Function& floor, Rasters depth, Source source, bool kajiura) {
  const auto motion = std::make_shared<const io::Dtopo>(std::move(source.motion));
  const double begin = motion->times.front(), end = motion->times.back();
  if (has_moved_at_start(*motion)) {
    const auto lift = [motion](double lon, double lat) { return motion->final_at(lon, lat); };
    const auto moved = std::make_shared<const io::Raster>(motion->frames.back());
    depth.push_back(moved);
    scenario.bed = between_points(
        [floor, lift](double lon, double lat) { return floor(lon, lat) + lift(lon, lat); }, depth);
    scenario.surface = between_points(lift, {moved});
    if (!kajiura) return;
    const auto spread = std::make_shared<const io::Dtopo>(
        io::Dtopo{motion->times, {io::kajiura(motion->frames.back(), floor)}});
    scenario.surface = between_points([spread](double lon, double lat) { return spread->final_at(lon, lat); },
                                      {std::make_shared<const io::Raster>(spread->frames.back())});
    return;
  }
  if (kajiura)
    throw io::FileError(source.name, "", "a motion that is over at the start, for --kajiura",
                        "one that lasts until " + degrees(end) + " s", "leave --kajiura out");
  const io::Region box = motion->frames.back().region();
  scenario.bed =
      swe::SeaFloor(between_points(floor, depth),
                    {[motion](double lon, double lat, double t) { return motion->at(lon, lat, t); },
                     std::max(begin, 0.0), end, box.west, box.east, box.south, box.north,
                     std::min(motion->frames.back().dx, motion->frames.back().dy)});
  scenario.surface = between_points([motion](double lon, double lat) { return motion->at(lon, lat, 0); },
                                    {std::make_shared<const io::Raster>(motion->frames.front())});
}

// Of the sides that have one, into the scenario. Returns what they are called.
std::vector<std::string> read_waves(const Options& o, Scenario& scenario) {
  std::vector<std::string> names;
  for (std::size_t side = 0; side < kSides.size(); ++side) {
    const std::string& name = o.borders[side].wave;
    if (name.empty()) continue;
    const io::InputFile file(found_file(name, o, "--border wave:FILE takes a file of seconds and metres"));
    const auto series = std::make_shared<const io::TimeSeries>(io::read_wave(file));
    begins_in_time(file.path(), "a wave", series->t.front(), series->t.back(), o.end);
    names.push_back("the wave from the " + std::string(kSides[side]) + ", " + name);
    scenario.sources = empi::mix64(scenario.sources ^ file.hash());
    swe::Wave& wave = scenario.waves[side];
    wave.surface = [series](double t) { return io::height_at(*series, t); };
    for (const double height : series->v) wave.height = std::max(wave.height, std::abs(height));
    wave.end = series->t.back();
  }
  return names;
}

// Of rasters whose heights count downwards, all sea is land.
void expect_sea(const std::string& names, const Rasters& rasters, const io::Region& domain, double tide) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& raster : rasters) {
    const io::Region near{domain.west - raster->dx, domain.east + raster->dx, domain.south - raster->dy,
                          domain.north + raster->dy};
    for (int j = 0; j < raster->ny; ++j)
      for (int i = 0; i < raster->nx; ++i)
        if (near.contains(raster->x0 + i * raster->dx, raster->y0 + j * raster->dy)) {
          lowest = std::min(lowest, raster->node(i, j));
          if (lowest < tide) return;
        }
  }
  throw io::FileError(names, "", "sea in the domain, " + words(domain),
                      "land of " + degrees(lowest) + " m and more",
                      "elevations are upwards, and those of the sea below 0: turn the sign, or choose "
                      "another domain (--west ...)");
}

// A side that is land from end to end lets no wave in.
void expect_sea_for_waves(const Options& o, const swe::Function& floor) {
  constexpr int intervals = 2000;
  for (std::size_t side = 0; side < kSides.size(); ++side) {
    if (o.borders[side].wave.empty()) continue;
    double lowest = std::numeric_limits<double>::infinity();
    for (int k = 0; k <= intervals; ++k) {
      const double part = static_cast<double>(k) / intervals;
      const double lon = side == 0 ? o.west : side == 1 ? o.east : o.west + part * (o.east - o.west);
      const double lat = side == 2 ? o.south : side == 3 ? o.north : o.south + part * (o.north - o.south);
      lowest = std::min(lowest, floor(lon, lat));
    }
    if (lowest < 0) continue;
    const std::string name(kSides[side]);
    throw io::FileError("--border " + name + ":wave:" + o.borders[side].wave, "",
                        "sea in the " + name + " of the domain", "land of " + degrees(lowest) + " m and more",
                        "choose another side, or another domain (--west ...)");
  }
}

Gauge read_record(const GaugeOption& option, const Options& o) {
  Gauge gauge{option, {}, ""};
  if (gauge.observed.empty()) return gauge;
  gauge.observed = found_file(gauge.observed, o);
  gauge.record = io::read_gauge(gauge.observed);
  if (const int repeated = io::repeats(gauge.record); repeated > 0) {
    gauge.record = io::averaged(gauge.record);
    gauge.remark = std::to_string(repeated) + " samples that repeat a time were averaged with it";
  }
  return gauge;
}

// DART 32412 as decision R12 judges it: every sample counts.
Gauge dart_32412(const std::string& chile) {
  Gauge gauge;
  gauge.id = "32412", gauge.lon = kDart32412Lon, gauge.lat = kDart32412Lat;
  gauge.observed = in_folder(chile, "32412_notide.txt");
  gauge.begin = io::GaugeWindow().begin, gauge.end = io::GaugeWindow().end;
  if (!gauge.observed.empty()) gauge.record = io::read_gauge(gauge.observed);
  return gauge;
}

// A record that has nothing of where it is wanted is most likely of another event. If the run alone is too
// short, it may be a trial.
void check_record(const Gauge& gauge, double run, std::vector<std::string>& remarks) {
  if (gauge.observed.empty()) return;
  const bool windowed = gauge.end > 0;
  const double begin = std::max(gauge.begin, 0.0), end = windowed ? gauge.end : run;
  const std::string has =
      empi::format("times from %g s to %g s", gauge.record.t.front(), gauge.record.t.back());
  if (std::ranges::none_of(gauge.record.t, [&](double t) { return t >= begin && t <= end; }))
    throw io::FileError(
        gauge.observed, "",
        empi::format("samples from %g s to %g s, the %s ", begin, end, windowed ? "window of" : "run, for") +
            "gauge " + gauge.id,
        windowed ? has + " and none of these" : has,
        std::string("count them from the earthquake, or ") +
            (windowed ? "choose another window, --gauge ID:LON:LAT:FILE:BEGIN-END"
                      : "take a later --end, or the gauge without a record"));
  if (judged_window(gauge, 0, run)) return;
  remarks.push_back(
      "gauge " + gauge.id + " will not be judged: of " + gauge.observed + " with " + has +
      (windowed ? empi::format(", its window from %g s to %g s", begin, end) : "") +
      empi::format(" and the run until %g s less than ten minutes, or two samples, are common", run));
}

int buffer_of(const Options& o) { return o.buffer < 0 ? swe::buffer_for(o.adapt_every) : o.buffer; }

}  // namespace

std::optional<io::GaugeWindow> judged_window(const Gauge& gauge, double begin, double end) {
  const std::vector<double>& t = gauge.record.t;
  const io::GaugeWindow window{std::max({gauge.begin, t.front(), begin}),
                               std::min({gauge.end > 0 ? gauge.end : t.back(), t.back(), end})};
  const auto inside =
      std::ranges::count_if(t, [&](double s) { return s >= window.begin && s <= window.end; });
  if (window.end < window.begin + 600 || inside < 2) return std::nullopt;
  return window;
}

Scenario make_scenario(const Options& options) {
  const std::string chile = options.data.empty() ? "" : options.data + "/chile2010";
  const io::Region domain{options.west, options.east, options.south, options.north};
  std::vector<std::string> topography;
  for (const std::string& name : options.topography) topography.push_back(found_file(name, options));
  if (topography.empty())
    if (const std::string own = in_folder(chile, "etopo10min120W60W60S0S.asc"); !own.empty())
      topography = {own};
  const bool built_in = topography.empty();
  Rasters depth = read_bathymetry(topography, domain);
  Scenario scenario;
  for (const auto& raster : depth) scenario.floor = empi::mix64(scenario.floor ^ io::hash_of(*raster));
  if (built_in) {
    depth.push_back(std::make_shared<io::Raster>(io::analytic_ocean_raster()));
    const io::Region box = depth.back()->region();
    if (!box.contains(domain.west, domain.south) || !box.contains(domain.east, domain.north))
      throw io::FileError("empi-tsunami", "", "a --topography for the domain " + words(domain),
                          "the built-in ocean of " + words(box), kFetchData);
  }
  if (built_in && !options.data.empty())
    scenario.remarks.push_back("no bathymetry of Chile 2010 in " + options.data +
                               ", so the ocean is the built-in one; " + kFetchData);
  for (const RegionOption& r : options.regions)
    if (r.from >= options.end)
      scenario.remarks.push_back(empi::format(
          "the --region of level %d begins at %g s, and the run ends at %g s", r.level, r.from, options.end));
  std::vector<std::string> sources = read_waves(options, scenario);
  const std::string names = built_in ? "built-in analytic ocean" : empi::joined(topography);
  // Heights count from where the water is at rest.
  const swe::Function floor = [depth, tide = options.tide](double lon, double lat) {
    for (const auto& raster : depth)
      if (raster->contains(lon, lat)) return raster->at(lon, lat) - tide;
    return depth.back()->at(lon, lat) - tide;
  };
  expect_sea(names, depth, domain, options.tide);
  expect_sea_for_waves(options, floor);
  const bool quake = sources.empty() || !options.dtopo.empty() || !options.faults.empty();
  if (quake) {
    Source source = read_source(options, chile);
    check_source(source, domain, scenario.remarks);
    scenario.sources = empi::mix64(scenario.sources ^ source.hash);
    if (const io::Dtopo& motion = source.motion; !has_moved_at_start(motion))
      begins_in_time(source.name, "a motion", motion.times.front(), motion.times.back(), options.end);
    sources.insert(sources.begin(), source.name + (options.kajiura ? ", Kajiura's surface" : ""));
    add_motion(scenario, floor, depth, std::move(source), options.kajiura);
  } else {
    scenario.bed = between_points(floor, depth);
    scenario.surface = between_points([](double, double) { return 0.0; }, {});
  }
  Roughness roughness = read_manning(options, domain);
  scenario.bed.manning = std::move(roughness.n);
  scenario.floor = empi::mix64(scenario.floor ^ roughness.hash);
  scenario.description = "bathymetry: " + names + "; source: " + empi::joined(sources);
  if (const ManningOption& m = options.manning; !m.file.empty())
    scenario.description +=
        "; Manning's n: " + m.file + (m.elsewhere ? empi::format(", %g where it has none", m.n) : "");

  for (const GaugeOption& gauge : options.gauges) scenario.gauges.push_back(read_record(gauge, options));
  if (scenario.gauges.empty() && domain.contains(kDart32412Lon, kDart32412Lat))
    scenario.gauges.push_back(dart_32412(built_in ? "" : chile));
  const swe::Parameters setup = make_setup(options, scenario);
  const swe::Sponge sponge(setup.borders, swe::Metric(setup.frame, setup.domain, 0), setup.domain);
  for (const Gauge& gauge : scenario.gauges) {
    check_record(gauge, options.end, scenario.remarks);
    if (sponge.strength(gauge.lon, gauge.lat) > 0)
      throw io::FileError("gauge " + gauge.id, degrees(gauge.lon) + " E, " + degrees(gauge.lat) + " N",
                          "a place out of the sponges", "one in the layer where waves are calmed",
                          "move it, or make --border sponge:KM narrower, or the domain larger");
    if (const double z = floor(gauge.lon, gauge.lat); z >= 0)
      throw io::FileError("gauge " + gauge.id, degrees(gauge.lon) + " E, " + degrees(gauge.lat) + " N",
                          "a place in the sea", "land of " + degrees(z) + " m",
                          "move it, or give a finer --topography");
  }
  return scenario;
}

swe::Parameters make_setup(const Options& options, const Scenario& scenario) {
  swe::Parameters setup;
  setup.domain = {options.roots_x, options.roots_y};
  setup.frame.coordinates = swe::Coordinates::Sphere;
  setup.frame.west = options.west;
  setup.frame.south = options.south;
  setup.frame.width = (options.east - options.west) / options.roots_x;
  setup.frame.height = (options.north - options.south) / options.roots_y;
  setup.coarsest = options.coarsest;
  setup.finest = options.finest;
  setup.coast = coast_level(options);
  for (std::size_t side = 0; side < setup.borders.size(); ++side) {
    const BorderOption& border = options.borders[side];
    const bool wall = border.kind == BorderOption::Kind::Wall;
    setup.borders[side] = wall ? swe::BorderKind::Wall : swe::BorderKind::Radiation;
    setup.borders[side].sponge = 1e3 * border.sponge_km;
    setup.borders[side].wave = scenario.waves[side];
  }
  setup.criterion.refine_amplitude = options.refine_m;
  setup.criterion.coarsen_amplitude = options.coarsen_m;
  setup.criterion.buffer = buffer_of(options);
  setup.criterion.finest = wave_level(options);
  if (options.refine_flux > 0) setup.criterion.refine_flux = options.refine_flux;
  if (options.refine_speed > 0) {
    setup.criterion.refine_speed = options.refine_speed;
    setup.criterion.coarsen_speed = 0.5 * options.refine_speed;
  }
  for (const RegionOption& r : options.regions)
    setup.criterion.regions.push_back({r.west, r.east, r.south, r.north, r.level, r.until, r.from});
  if (options.gauge_level >= 0)
    for (const GaugeOption& g : options.gauges)
      setup.criterion.regions.push_back({g.lon - options.gauge_radius, g.lon + options.gauge_radius,
                                         g.lat - options.gauge_radius, g.lat + options.gauge_radius,
                                         options.gauge_level});
  setup.physics.manning = options.manning.n;  // without it run-off races down slopes
  setup.physics.speed_limit = options.speed_limit;
  if (options.coriolis) setup.physics.rotation = 7.292115e-5;  // rad/s, of the sidereal day
  setup.physics.order = options.order;
  setup.physics.solver =
      options.solver == "augrie" ? swe::RiemannSolver::Augmented : swe::RiemannSolver::Hllc;
  return setup;
}

std::string name_case(const Options& o, const Scenario& scenario) {
  std::string places;
  for (const RegionOption& r : o.regions)
    places += empi::format("; level %d in %g to %g E, %g to %g N, %g to %g s", r.level, r.west, r.east,
                           r.south, r.north, r.from, r.until);
  if (o.gauge_level >= 0)
    for (const GaugeOption& g : o.gauges)
      places +=
          empi::format("; level %d within %g of %g E, %g N", o.gauge_level, o.gauge_radius, g.lon, g.lat);
  // Their courses are kept in this order.
  for (const Gauge& g : scenario.gauges)
    places += "; gauge " + g.id + empi::format(" at %g E, %g N", g.lon, g.lat);
  if (wave_level(o) != o.finest) places += empi::format("; waves to level %d", o.refine_level);
  if (o.refine_speed > 0) places += empi::format("; refined at %g m/s of the water", o.refine_speed);
  if (o.refine_flux > 0) places += empi::format("; refined at a flux of %g m/s", o.refine_flux);
  const bool walls = std::ranges::all_of(
      o.borders, [](const BorderOption& b) { return b.kind == BorderOption::Kind::Wall; });
  std::string borders;  // waves are among the sources
  for (std::size_t side = 0; side < kSides.size() && !walls; ++side) {
    const BorderOption& border = o.borders[side];
    const std::string name(kSides[side]);
    if (border.kind == BorderOption::Kind::Wall) borders += ", wall in the " + name;
    if (border.kind == BorderOption::Kind::Sponge)
      borders += empi::format(", sponge of %g km in the %s", border.sponge_km, name.c_str());
  }
  if (o.storage != "double") places += "; single storage";
  if (o.speed_limit == 0)
    places += "; no limit of speeds";
  else if (o.speed_limit != Options{}.speed_limit)
    places += empi::format("; at most %g m/s", o.speed_limit);
  if (scenario.sources != 0) places += "; the sources' files " + io::hex(scenario.sources);
  if (scenario.floor != 0) places += "; the floor's files " + io::hex(scenario.floor);
  if (o.tide != 0) places += empi::format("; tide %g m", o.tide);
  return scenario.description + places +
         empi::format("; %g to %g E, %g to %g N, %d x %d roots, levels %d to %d, coast %d", o.west, o.east,
                      o.south, o.north, o.roots_x, o.roots_y, o.coarsest, o.finest, coast_level(o)) +
         empi::format(
             "; order %d, %s, refined at %g m, coarsened at %g m, each %d steps, buffer %d; manning %g%s%s",
             o.order, o.solver.c_str(), o.refine_m, o.coarsen_m, o.adapt_every, buffer_of(o), o.manning.n,
             o.coriolis ? ", coriolis" : "", walls ? ", walls" : "") +
         borders;
}

}  // namespace tsunami

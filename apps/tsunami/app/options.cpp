#include "apps/tsunami/app/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "apps/io/run_folder.hpp"

namespace tsunami {
namespace {

// ID:LON:LAT or ID:LON:LAT:FILE
GaugeOption parse_gauge(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (int i = 0; i < 3; ++i) {
    const std::size_t colon = text.find(':', begin);
    parts.push_back(text.substr(begin, colon - begin));
    if (colon == std::string::npos) break;
    begin = colon + 1;
    if (i == 2) parts.push_back(text.substr(begin));
  }
  char* rest = nullptr;
  GaugeOption gauge;
  if (parts.size() < 3) throw CLI::ValidationError("--gauge", "'" + text + "' is not ID:LON:LAT[:FILE]");
  gauge.id = parts[0];
  gauge.lon = std::strtod(parts[1].c_str(), &rest);
  if (*rest != 0 || parts[1].empty())
    throw CLI::ValidationError("--gauge", "longitude '" + parts[1] + "' is no number");
  gauge.lat = std::strtod(parts[2].c_str(), &rest);
  if (*rest != 0 || parts[2].empty())
    throw CLI::ValidationError("--gauge", "latitude '" + parts[2] + "' is no number");
  if (parts.size() > 3) gauge.observed = parts[3];
  return gauge;
}

void check(const Options& o) {
  const auto refuse = [](const std::string& what) { throw CLI::ValidationError("empi-tsunami", what); };
  if (!(o.west < o.east) || !(o.south < o.north))
    refuse("the domain is empty: west < east and south < north expected");
  if (o.south < -85 || o.north > 85)
    refuse("latitudes beyond 85 degrees: the cells would degenerate at the poles");
  if (o.coarsest > o.finest) refuse("--coarsest is finer than --finest");
  if (o.coarsen_m > o.refine_m)
    refuse("--coarsen above --refine: cells would be refined and coarsened for ever");
  for (const GaugeOption& g : o.gauges)
    if (g.lon <= o.west || g.lon >= o.east || g.lat <= o.south || g.lat >= o.north)
      refuse("gauge " + g.id + " is outside of the domain");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  o.data = io::data_folder();
  o.out = io::default_folder();
  std::vector<std::string> gauges;

  CLI::App app{
      "A tsunami on an adaptive mesh: shallow water from an earthquake to the tide gauges.\n"
      "Malleable under an Elastic MPI agent; alone or under mpirun it runs at a fixed size."};
  app.set_config("--config", "", "read options from a TOML or INI file");
  app.add_option("--data", o.data, "folder with chile2010/; without it a built-in analytic ocean is used")
      ->capture_default_str();
  app.add_option("--topography", o.topography,
                 "bathymetry: topotype 2 or 3, ESRI ASCII or netCDF (GEBCO, ETOPO)");
  app.add_option("--dtopo", o.dtopo, "sea floor displacement: dtopo type 3");
  app.add_option("--west", o.west, "domain, degrees east")->capture_default_str();
  app.add_option("--east", o.east, "domain, degrees east")->capture_default_str();
  app.add_option("--south", o.south, "domain, degrees north")->capture_default_str();
  app.add_option("--north", o.north, "domain, degrees north")->capture_default_str();
  app.add_option("--roots-x", o.roots_x, "root squares, west to east")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--roots-y", o.roots_y, "root squares, south to north")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--coarsest", o.coarsest, "coarsest mesh level")
      ->check(CLI::Range(0, 30))
      ->capture_default_str();
  app.add_option("--finest", o.finest, "finest mesh level; two levels halve the cell")
      ->check(CLI::Range(0, 30))
      ->capture_default_str();
  app.add_option("--end", o.end, "simulated time, s")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--adapt-every", o.adapt_every, "steps between adaptions of the mesh")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--buffer", o.buffer, "cells refined around those that need it")
      ->check(CLI::Range(0, 20))
      ->capture_default_str();
  app.add_option("--refine", o.refine_m, "amplitude that refines a cell, m")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--coarsen", o.coarsen_m, "amplitude below which cells may coarsen, m")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--walls", o.walls, "closed borders (else waves leave through them)");
  app.add_option("--snapshot-every", o.snapshot_every, "simulated seconds between pictures; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--gauge", gauges, "ID:LON:LAT[:FILE], FILE with the observed record; may be repeated");
  app.add_option("--balance", o.balance_tolerance, "imbalance that moves cells")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--out", o.out, "folder for results")->capture_default_str();
  try {
    app.parse(argc, argv);
    for (const std::string& gauge : gauges) o.gauges.push_back(parse_gauge(gauge));
    check(o);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return o;
}

}  // namespace tsunami

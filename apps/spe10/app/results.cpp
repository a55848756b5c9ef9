// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/app/results.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>

#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/spe10/app/eclipse_summary.hpp"

namespace spe10 {
namespace {

using nlohmann::json;

json well_at(const Setup& setup, std::size_t w) {
  const Well& well = setup.deck.wells[w];
  const auto feet = [](std::int64_t quarters, double unit) {
    return 0.25 * static_cast<double>(quarters) * unit;
  };
  return {
      {"name", well.name},
      {"injector", well.kind == Well::Kind::Injector},
      {"block", {well.i, well.j}},
      {"at_ft", {feet(setup.wells[w].x4, setup.frame.unit_x), feet(setup.wells[w].y4, setup.frame.unit_y)}}};
}

// Of the water that can flow: what pictures of it go from and to.
json mobile_range(const Fluid& fluid) { return {fluid.swc, 1 - fluid.sor}; }

}  // namespace

void announce_results(const std::string& folder, const std::string& description, const Setup& setup) {
  json wells = json::array();
  for (std::size_t w = 0; w < setup.deck.wells.size(); ++w) wells.push_back(well_at(setup, w));
  io::write_text(
      folder + "/spe10.json",
      json{{"case", description}, {"mobile_saturation", mobile_range(setup.deck.fluid)}, {"wells", wells}}
              .dump(2) +
          "\n");
}

void write_curves(const std::string& folder, const Deck& deck, const std::vector<double>& curves) {
  std::string text =
      "day,step_days,substeps,iterations,ranks,mean_pressure_psi,oil_stb_day,water_stb_day,water_cut";
  for (const Well& w : deck.wells)
    for (const char* what : {"oil_stb_day", "water_stb_day", "water_cut", "bhp_psi"})
      text += "," + w.name + "_" + what;
  text += "\n";
  const std::size_t width = kCurveHead + kCurvePerWell * deck.wells.size();
  char number[32];
  const auto add = [&](double value) {
    std::snprintf(number, sizeof number, ",%.7g", value);
    text += number;
  };
  for (std::size_t row = 0; row + width <= curves.size(); row += width) {
    const double* v = curves.data() + row;
    std::snprintf(number, sizeof number, "%.8g", v[0]);
    text += number;
    for (std::size_t k = 1; k < kCurveHead; ++k) add(v[k]);
    double oil = 0, water = 0;
    for (std::size_t w = 0; w < deck.wells.size(); ++w)
      if (deck.wells[w].kind == Well::Kind::Producer)
        oil += v[kCurveHead + 3 * w], water += v[kCurveHead + 3 * w + 1];
    add(oil), add(water), add(water_cut(oil, water));
    for (std::size_t w = 0; w < deck.wells.size(); ++w) {
      const double* well = v + kCurveHead + 3 * w;
      add(well[0]), add(well[1]), add(water_cut(well[0], well[1])), add(well[2]);
    }
    text += "\n";
  }
  io::write_text(folder + "/production.csv", text);
  const EclipseSummary eclipse = eclipse_summary(deck, curves);
  io::write_text(folder + "/spe10.UNSMRY", eclipse.values);
  io::write_text(folder + "/spe10.SMSPEC", eclipse.specification);
}

void clear_results(const std::string& folder) {
  static const std::regex ours(
      R"(index\.html|production\.csv|progress\.json|spe10\.(json|pvd|SMSPEC|UNSMRY)|(resources|production|profiles)\.png)"
      R"(|spe10-\d{4}(-\d+)?\.p?vtu|(water|cut)-\d{4}\.png)");
  io::clear_folder(folder, ours);
}

void clear_series(const std::string& folder) {
  static const std::regex ours(R"(cells\.csv|spe10\.vtkhdf\.series|snapshot-\d{4}\.vtkhdf(\.part)?)");
  io::clear_folder(folder, ours);
}

void add_to_curves(std::vector<double>& curves, const Simulator& sim, const StepReport& step, int ranks) {
  auto& s = const_cast<Simulator&>(sim);
  curves.insert(curves.end(),
                {s.clock().days, step.days, static_cast<double>(step.substeps),
                 static_cast<double>(step.iterations), static_cast<double>(ranks), s.clock().mean_pressure});
  for (const WellState& w : s.wells()) curves.insert(curves.end(), {w.oil_rate, w.water_rate, w.bhp});
}

void write_results(const std::string& folder, const Summary& s, Simulator& sim,
                   const std::vector<double>& curves) {
  const Deck& deck = sim.setup().deck;
  write_curves(folder, deck, curves);
  json wells = json::array();
  double injected = 0, oil_in = 0;
  for (std::size_t w = 0; w < deck.wells.size(); ++w) {
    const WellState& state = sim.wells()[w];
    injected += state.water_in, oil_in += state.volume_in - state.water_in;
    wells.push_back(well_at(sim.setup(), w));
    wells.back().update(json{{"oil_stb_per_day", state.oil_rate},
                             {"water_stb_per_day", state.water_rate},
                             {"water_cut", water_cut(state.oil_rate, state.water_rate)},
                             {"oil_stb", state.oil_total},
                             {"water_stb", state.water_total},
                             {"bhp_psi", state.bhp}});
  }
  const Clock& clock = sim.clock();
  const double balance = s.water_end - s.water_start - injected;
  const double oil_balance = s.oil_end - s.oil_start - oil_in;
  io::write_text(folder + "/spe10.json", json{{"case", s.description},
                                              {"days", clock.days},
                                              {"steps", clock.steps},
                                              {"steps_refused", clock.refused},
                                              {"saturation_substeps", clock.substeps},
                                              {"columns_final", s.columns},
                                              {"cells_final", s.prisms},
                                              {"pressure_solves", s.pressure_solves},
                                              {"pressure_iterations", s.pressure_iterations},
                                              {"multigrid_setups", s.setups},
                                              {"seconds_pressure", s.seconds_pressure},
                                              {"seconds_transport", s.seconds_transport},
                                              {"mean_pressure_psi", clock.mean_pressure},
                                              {"pore_volume_ft3", s.pore_volume},
                                              {"water_balance", balance / s.pore_volume},
                                              {"oil_balance", oil_balance / s.pore_volume},
                                              {"saturation_range", {s.lowest_s, s.highest_s}},
                                              {"mobile_saturation", mobile_range(deck.fluid)},
                                              {"wells", wells}}
                                             .dump(2));
}

}  // namespace spe10

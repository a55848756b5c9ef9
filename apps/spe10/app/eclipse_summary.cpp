// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/app/eclipse_summary.hpp"

#include <cstdint>
#include <string_view>

#include "apps/io/eclipse_file.hpp"
#include "apps/spe10/app/results.hpp"

namespace spe10 {
namespace {

constexpr std::string_view kNoName = ":+:+:+:+";         // of a vector of the field
constexpr std::int32_t kFieldUnits = 2, kNobodys = 100;  // of INTEHEAD: whose program it was

// One vector: what it is called, of which well, in which unit.
struct Vector {
  std::string keyword, well, unit;
};

constexpr const char *kRate = "STB/DAY", *kTotal = "STB", *kPressure = "PSIA", *kShare = "";

std::vector<Vector> vectors_of(const Deck& deck) {
  std::vector<Vector> all{{"TIME", "", "DAYS"}, {"FPR", "", kPressure}, {"FOPR", "", kRate},
                          {"FWPR", "", kRate},  {"FWCT", "", kShare},   {"FOPT", "", kTotal},
                          {"FWPT", "", kTotal}, {"FWIR", "", kRate},    {"FWIT", "", kTotal}};
  for (const Well& well : deck.wells) {
    const auto add = [&](const char* keyword, const char* unit) {
      all.push_back({keyword, well.name, unit});
    };
    if (well.kind == Well::Kind::Producer) {
      add("WOPR", kRate), add("WWPR", kRate), add("WWCT", kShare);
      add("WOPT", kTotal), add("WWPT", kTotal);
    } else {
      add("WWIR", kRate), add("WWIT", kTotal);
    }
    add("WBHP", kPressure);
  }
  return all;
}

std::string specification_of(const std::vector<Vector>& vectors) {
  std::vector<std::string> keywords, wells, units;
  for (const Vector& v : vectors) {
    keywords.push_back(v.keyword);
    wells.push_back(v.well.empty() ? std::string(kNoName) : v.well);
    units.push_back(v.unit);
  }
  io::EclipseFile file;
  file.add("INTEHEAD", std::vector<std::int32_t>{kFieldUnits, kNobodys});
  file.add("RESTART", std::vector<std::string>(9));
  file.add("DIMENS", std::vector<std::int32_t>{static_cast<std::int32_t>(vectors.size()), 0, 0, 0, 0, 0});
  file.add("KEYWORDS", keywords);
  file.add("WGNAMES", wells);
  file.add("NUMS", std::vector<std::int32_t>(vectors.size()));
  file.add("UNITS", units);
  file.add("STARTDAT", std::vector<std::int32_t>{1, 1, 2000, 0, 0, 0});
  return file.bytes();
}

struct Totals {
  double oil = 0, water = 0;
};

// What vectors_of() has told of, after one step.
class Rows {
 public:
  explicit Rows(const Deck& deck) : deck_(deck), wells_(deck.wells.size()) {}

  std::vector<float> next(const double* row) {
    const double days = row[1];
    double oil = 0, water = 0, injected = 0;
    std::vector<double> of_wells;
    for (std::size_t w = 0; w < deck_.wells.size(); ++w) {
      const double* rates = row + kCurveHead + kCurvePerWell * w;
      Totals& total = wells_[w];
      if (deck_.wells[w].kind == Well::Kind::Producer) {
        total.oil += rates[0] * days;
        total.water += rates[1] * days;
        oil += rates[0];
        water += rates[1];
        of_wells.insert(of_wells.end(),
                        {rates[0], rates[1], water_cut(rates[0], rates[1]), total.oil, total.water});
      } else {
        total.water -= rates[1] * days;
        injected -= rates[1];
        of_wells.insert(of_wells.end(), {-rates[1], total.water});
      }
      of_wells.push_back(rates[2]);
    }
    field_.oil += oil * days;
    field_.water += water * days;
    injected_ += injected * days;
    std::vector<double> all{row[0],     row[5],       oil,      water,    water_cut(oil, water),
                            field_.oil, field_.water, injected, injected_};
    all.insert(all.end(), of_wells.begin(), of_wells.end());
    return {all.begin(), all.end()};
  }

 private:
  const Deck& deck_;
  std::vector<Totals> wells_;
  Totals field_;
  double injected_ = 0;
};

}  // namespace

EclipseSummary eclipse_summary(const Deck& deck, std::span<const double> curves) {
  io::EclipseFile values;
  Rows rows(deck);
  const std::size_t width = kCurveHead + kCurvePerWell * deck.wells.size();
  for (std::size_t at = 0, step = 0; at + width <= curves.size(); at += width, ++step) {
    values.add("SEQHDR", std::vector<std::int32_t>{0});
    values.add("MINISTEP", std::vector<std::int32_t>{static_cast<std::int32_t>(step)});
    values.add("PARAMS", rows.next(curves.data() + at));
  }
  return {specification_of(vectors_of(deck)), values.bytes()};
}

}  // namespace spe10

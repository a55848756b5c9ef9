// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/model/deck.hpp"

#include <set>

#include "apps/io/eclipse_file.hpp"
#include "apps/io/yaml_reader.hpp"

namespace spe10 {
namespace {

using io::YamlReader;

int block_of(const YamlReader& reader, const YAML::Node& node, const char* name, int count) {
  int value = 0;
  if (!node.IsScalar() || !YAML::convert<int>::decode(node, value) || value < 1 || value > count)
    reader.fail(node, std::string(name) + " of the well's block from 1 to " + std::to_string(count),
                node.IsScalar() ? "'" + node.Scalar() + "'" : "no number", "blocks are counted from 1");
  return value;
}

void read_fluid(const YamlReader& reader, const YAML::Node& node, Fluid& f) {
  reader.expect_map(node, "fluid",
                    {"swc", "sor", "mu_w_cp", "mu_o_cp", "density_w_lb_ft3", "density_o_lb_ft3", "b_w", "b_o",
                     "c_w_per_psi", "c_o_per_psi", "c_rock_per_psi", "reference_psi"});
  reader.number(node, "swc", 0, 0.9, f.swc);
  reader.number(node, "sor", 0, 0.9, f.sor);
  if (f.swc + f.sor > 0.95)
    reader.fail(node, "swc + sor up to 0.95", std::to_string(f.swc + f.sor),
                "leave room for the liquids to move");
  reader.number(node, "mu_w_cp", 1e-3, 1e4, f.mu_w);
  reader.number(node, "mu_o_cp", 1e-3, 1e4, f.mu_o);
  reader.number(node, "density_w_lb_ft3", 1, 200, f.density_w);
  reader.number(node, "density_o_lb_ft3", 1, 200, f.density_o);
  reader.number(node, "b_w", 0.5, 2, f.b_w);
  reader.number(node, "b_o", 0.5, 2, f.b_o);
  reader.number(node, "c_w_per_psi", 0, 1e-4, f.c_w);
  reader.number(node, "c_o_per_psi", 0, 1e-4, f.c_o);
  reader.number(node, "c_rock_per_psi", 0, 1e-4, f.c_rock);
  reader.number(node, "reference_psi", 0, 1e5, f.reference);
}

Well read_well(const YamlReader& reader, const YAML::Node& node, const Field& field) {
  reader.expect_map(node, "a well", {"name", "type", "block", "rate_stb_per_day", "bhp_psi", "radius_ft"});
  Well well;
  for (const char* key : {"name", "type", "block", "bhp_psi"})
    if (!node[key]) reader.fail(node, "a well with " + std::string(key), "none", "add it");
  well.name = node["name"].as<std::string>("");
  if (well.name.empty() || well.name.find_first_of(",/ \"") != std::string::npos)
    reader.fail(node["name"], "a name without blanks, commas, quotes and slashes", "'" + well.name + "'",
                "choose another");
  const auto type = node["type"].as<std::string>("");
  if (type != "injector" && type != "producer")
    reader.fail(node["type"], "type injector or producer", "'" + type + "'", "correct it");
  well.kind = type == "injector" ? Well::Kind::Injector : Well::Kind::Producer;
  const YAML::Node block = node["block"];
  if (!block.IsSequence() || block.size() != 2)
    reader.fail(block, "block: [i, j]", "something else", "give the block's two numbers");
  well.i = block_of(reader, block[0], "i", field.nx);
  well.j = block_of(reader, block[1], "j", field.ny);
  bool open = false;
  for (int k = 0; k < field.nz; ++k) open = open || field.active(field.at(well.i - 1, well.j - 1, k));
  if (!open)
    reader.fail(block, "a block that has pores in one layer at least", "none in any layer",
                "nothing could flow to well " + well.name + ": place it elsewhere");
  reader.number(node, "rate_stb_per_day", 0, 1e7, well.rate);
  if (well.rate > 0 && well.kind == Well::Kind::Producer)
    reader.fail(node["rate_stb_per_day"], "producers without a rate", "one", "producers are held at bhp_psi");
  reader.number(node, "bhp_psi", 1, 1e5, well.bhp);
  reader.number(node, "radius_ft", 1e-3, 3, well.radius);
  return well;
}

}  // namespace

Deck spe10_deck(int layers) {
  Deck deck;
  deck.top = 12000 + 2.0 * (kSpe10Nz - layers);
  // 5000 bbl/day into 85 layers; in 16 that is the 941.2 STB/day of the OPM Flow run we compare with.
  const double rate = 5000.0 * layers / kSpe10Nz;
  deck.wells = {{"I1", 30, 110, Well::Kind::Injector, rate, 10000},
                {"P1", 1, 1},
                {"P2", 60, 1},
                {"P3", 60, 220},
                {"P4", 1, 220}};
  return deck;
}

Deck bare_deck(const Field& field) {
  Deck deck;
  deck.top = deck.datum = field.top.value_or(deck.top);
  return deck;
}

Deck read_deck(const io::InputFile& file, Deck deck, const Field& field) {
  const YamlReader reader(file);
  const YAML::Node root = reader.root();
  reader.expect_map(root, "a deck", {"fluid", "top_ft", "datum_ft", "datum_psi", "wells"});
  if (root["fluid"]) read_fluid(reader, root["fluid"], deck.fluid);
  reader.number(root, "top_ft", 0, 1e5, deck.top);
  reader.number(root, "datum_ft", 0, 1e5, deck.datum);
  reader.number(root, "datum_psi", 1, 1e5, deck.datum_pressure);
  if (const YAML::Node wells = root["wells"]) {
    if (!wells.IsSequence() || wells.size() == 0)
      reader.fail(wells, "a list of wells", "none", "give at least one");
    deck.wells.clear();
    std::set<std::string> names;
    for (const auto& node : wells) {
      deck.wells.push_back(read_well(reader, node, field));
      const std::string name = deck.wells.back().name.substr(0, io::kEclipseWord);
      if (!names.insert(name).second)
        reader.fail(node, "wells that differ within " + std::to_string(io::kEclipseWord) + " characters",
                    "'" + name + "' twice", "rename one: an Eclipse summary keeps no more of a name");
    }
  }
  if (deck.wells.empty()) reader.fail(root, "wells on a field of your own", "none", "add a list wells:");
  return deck;
}

}  // namespace spe10

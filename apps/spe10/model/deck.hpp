// SPDX-License-Identifier: Apache-2.0
// What is simulated besides the rock: liquids, initial state, wells.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "apps/io/input_file.hpp"
#include "apps/spe10/field/field.hpp"
#include "apps/spe10/model/fluid.hpp"

namespace spe10 {

struct Well {
  enum class Kind { Injector, Producer };
  std::string name;
  int i = 1, j = 1;  // the block whose centre it goes through, counted from 1; open in all layers
  Kind kind = Kind::Producer;
  double rate = 0;      // injectors: STB of water per day; 0: by pressure alone
  double bhp = 4000;    // psi at the top of the reservoir: the producer's pressure, the injector's limit
  double radius = 0.5;  // ft
};

struct Deck {
  Fluid fluid;
  double top = 12000;            // ft, depth of the first layer's top
  double datum = 12000;          // ft
  double datum_pressure = 6000;  // psi
  std::vector<Well> wells;
};

// SPE10 model 2 on its bottom `layers`: the published 5000 bbl/day in proportion to the layers.
Deck spe10_deck(int layers);

// A field of the user's: SPE10's liquids and pressure, at the field's own depth; the wells are to be given.
Deck bare_deck(const Field& field);

// Reads a YAML deck for a field; what is not given is as in `start`. Wells go through at least one active
// block. Throws io::FileError with file, line and what to do.
Deck read_deck(const io::InputFile& file, Deck start, const Field& field);
inline Deck read_deck(const std::string& path, Deck start, const Field& field) {
  return read_deck(io::InputFile(path), std::move(start), field);
}

}  // namespace spe10

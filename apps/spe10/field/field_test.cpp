// SPDX-License-Identifier: Apache-2.0
// Promise: the data set is read right, and what is not the data set is refused with its place.
#include "apps/spe10/field/field.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"
#include "apps/spe10/model/deck.hpp"
#include "apps/spe10/model/rock.hpp"

namespace {

using namespace spe10;
namespace fs = std::filesystem;

std::string data_folder() { return io::test::data_file("spe10_model2"); }

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "spe10-field-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }
  // The message of the error that the action must throw.
  template <class Action>
  std::string refusal(Action action) const {
    try {
      action();
    } catch (const io::FileError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
  std::string folder;
};

Field spe10_sized() {
  Field field;
  field.nx = kSpe10Nx, field.ny = kSpe10Ny, field.nz = 16;
  return field;
}

void expect_in(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(message.find(part), message.npos) << "'" << part << "' in: " << message;
}

// Values of the data set's PROVENANCE: all of it, then its first blocks.
TEST(Spe10, IsThePublishedField) {
  if (!has_spe10(data_folder()))
    GTEST_SKIP() << "no SPE10 data: EMPI_DATA names the folder that has spe10_model2";
  const Field f = read_spe10(data_folder(), 85);
  ASSERT_EQ(f.kx.size(), 1122000u);
  double sum = 0, logs = 0, channels = 0, highest_v = 0;
  for (std::size_t b = 0; b < f.kx.size(); ++b) {
    sum += f.kx[b], logs += std::log(f.kx[b]);
    channels += f.kz[b] > 0.1F * f.kx[b];
    highest_v = std::max<double>(highest_v, f.kz[b]);
  }
  const auto n = static_cast<double>(f.kx.size());
  EXPECT_NEAR(sum / n, 355.5915, 1e-3);
  EXPECT_NEAR(std::exp(logs / n), 10.0855, 1e-3);
  EXPECT_NEAR(channels / n, 0.2409, 1e-4);
  EXPECT_NEAR(highest_v, 6000, 0.1);
  EXPECT_FLOAT_EQ(*std::ranges::max_element(f.kx), 20000);
  const float first[] = {18.2808F, 28.5927F, 23.8922F, 30.6373F, 10.7137F, 5.35088F};
  for (std::size_t b = 0; b < 6; ++b) EXPECT_NEAR(f.kx[b], first[b], 1e-4 * first[b]);
  EXPECT_NE(f.description.find("SYNTHETIC porosity"), f.description.npos);
  const Field bottom = read_spe10(data_folder(), 16);
  EXPECT_EQ(bottom.kx[bottom.at(3, 5, 0)], f.kx[f.at(3, 5, 69)]);
}

TEST_F(Folder, TruncatedAndDamagedFilesAreRefused) {
  const std::string bin = "spe10_kx_mD_f32le.bin";
  write(bin, std::string(1000, 'x'));
  expect_in(refusal([&] { read_spe10(folder, 16); }), {bin.c_str(), "byte 1000", "4488000"});
  // Not a number in block 1120000.
  std::string all(4488000, '\0');
  const float one = 1, wrong = -3;
  for (std::size_t b = 0; b < 1122000; ++b) std::memcpy(all.data() + 4 * b, &one, 4);
  std::memcpy(all.data() + 4 * 1120000, &wrong, 4);
  write(bin, all);
  write("spe10_kvclass_bits.bin", std::string(140250, '\1'));
  expect_in(refusal([&] { read_spe10(folder, 16); }), {bin.c_str(), "byte 4480000", "-3"});
  std::memcpy(all.data() + 4 * 1120000, &one, 4);
  write(bin, all);
  EXPECT_EQ(read_spe10(folder, 2).kx[0], 1);
  write("spe10_kvclass_bits.bin", std::string(140000, '\1'));
  expect_in(refusal([&] { read_spe10(folder, 16); }), {"spe10_kvclass_bits.bin", "byte 140000", "140250"});
  fs::remove(folder + "/" + bin);
  write(bin + ".xz",
        "\xFD"
        "7zXZ but not really");
  expect_in(refusal([&] { read_spe10(folder, 16); }), {".xz", "byte 0", "cannot be unpacked"});
  write("spe_perm.dat", "1 2 3\n4 five 6\n");
  expect_in(refusal([&] { read_spe10(folder, 16); }),
            {"spe_perm.dat:2", "permeability 5 of 3366000", "five"});
  write("spe_perm.dat", "1 2 3\n4 -5 6\n");
  expect_in(refusal([&] { read_spe10(folder, 16); }), {"spe_perm.dat:2", "permeability 5"});
  write("spe_perm.dat", "1 2 3\n");
  expect_in(refusal([&] { read_spe10(folder, 16); }), {"spe_perm.dat", "permeability 4 of 3366000"});
}

TEST_F(Folder, PorosityOfTheUserIsTaken) {
  std::string all(4488000, '\0');
  const float one = 1;
  for (std::size_t b = 0; b < 1122000; ++b) std::memcpy(all.data() + 4 * b, &one, 4);
  write("spe10_kx_mD_f32le.bin", all);
  write("spe10_kvclass_bits.bin", std::string(140250, '\0'));
  std::string phi;
  for (int b = 0; b < 1122000; ++b) phi += b % 100 == 7 ? "0\n" : "0.25\n";
  write("spe_phi.dat", phi);
  const Field f = read_spe10(folder, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(f.porosity(0)), 0.25F);
  EXPECT_FALSE(f.active(7)) << "there is nothing that could flow";
  EXPECT_EQ(f.description.find("SYNTHETIC"), f.description.npos);
  write("spe_phi.dat", phi + "0.2 0.2\n");
  expect_in(refusal([&] { read_spe10(folder, 1); }), {"spe_phi.dat:1122001", "the end"});
  write("spe_phi.dat", "0.2\n1.7\n");
  expect_in(refusal([&] { read_spe10(folder, 1); }), {"spe_phi.dat:2", "porosity 2"});
}

TEST_F(Folder, BadDecksAreRefusedWithTheirLine) {
  const auto message = [&](const std::string& text) {
    return refusal([&] { read_deck(write("deck.yaml", text), spe10_deck(16), spe10_sized()); });
  };
  expect_in(message("fluid:\n  swc: 0.2\n  visc: 3\n"), {"deck.yaml:3", "'visc'", "mu_o_cp"});
  expect_in(message("fluid:\n  mu_o_cp: thick\n"), {"deck.yaml:2", "mu_o_cp", "'thick'"});
  expect_in(message("fluid:\n  swc: 0.6\n  sor: 0.5\n"), {"deck.yaml:2", "swc + sor"});
  const std::string well = "wells:\n  - name: A\n    type: producer\n    bhp_psi: 4000\n";
  expect_in(message(well + "    block: [61, 1]\n"), {"deck.yaml:5", "from 1 to 60", "'61'"});
  expect_in(message(well), {"deck.yaml:2", "block"});
  expect_in(message(well + "    block: [1, 1]\n    rate_stb_per_day: 5\n"),
            {"deck.yaml:6", "producers without a rate"});
  expect_in(
      message(well + "    block: [1, 1]\n  - {name: A, type: injector, block: [2, 2], bhp_psi: 5000}\n"),
      {"deck.yaml:6", "'A' twice"});
  expect_in(message("wells:\n  - {name: PRODUCER-N, type: producer, block: [1, 1], bhp_psi: 4000}\n"
                    "  - {name: PRODUCER-S, type: producer, block: [2, 2], bhp_psi: 4000}\n"),
            {"deck.yaml:3", "within 8 characters", "'PRODUCER' twice", "summary"});
  expect_in(message("wells: []\n"), {"deck.yaml:1", "list of wells"});
  expect_in(message("wells: [\n"), {"deck.yaml:"});
  expect_in(message("top_ft: -5\n"), {"deck.yaml:1", "top_ft from 0"});
  const Deck deck = read_deck(write("deck.yaml", well + "    block: [3, 4]\nfluid: {mu_o_cp: 5}\n"),
                              spe10_deck(16), spe10_sized());
  ASSERT_EQ(deck.wells.size(), 1u);
  EXPECT_EQ(deck.wells[0].i, 3);
  EXPECT_EQ(deck.fluid.mu_o, 5);
  EXPECT_EQ(deck.fluid.mu_w, 0.3);
}

// The mean of a triangle's rock is made of its children's: porosity as volume, permeability geometrically
// sideways, and arithmetically in the vertical, where what flows through neighbours flows side by side.
TEST(Rock, IsCoarsenedByVolumeAndGeometricMean) {
  Field field = synthetic_field(8, 12, 3, 5);
  field.phi.resize(field.kx.size());
  for (std::size_t b = 0; b < field.phi.size(); ++b)
    field.phi[b] = 0.05F + 0.003F * static_cast<float>(b % 90);
  const mesh::Domain domain = domain_of(field);
  EXPECT_EQ(domain, (mesh::Domain{2, 3}));
  EXPECT_EQ(aligned_level(field), 4);
  const RockOfColumn rock = rock_of(field, domain, 2);
  std::vector<spe10::Rock> parent(6), first(6), second(6);
  for (std::uint32_t root = 0; root < domain.roots(); ++root) {
    const mesh::Leaf leaf = mesh::Leaf::of_root(root).child(root % 2);
    rock(leaf, parent), rock(leaf.child(0), first), rock(leaf.child(1), second);
    for (std::size_t z = 0; z < 6; ++z) {
      EXPECT_NEAR(parent[z].phi, 0.5 * (first[z].phi + second[z].phi), 1e-15);
      EXPECT_NEAR(std::log(parent[z].kxx), 0.5 * (std::log(first[z].kxx) + std::log(second[z].kxx)), 1e-6);
      EXPECT_NEAR(parent[z].kzz, 0.5 * (first[z].kzz + second[z].kzz), 1e-6 * parent[z].kzz);
      EXPECT_EQ(parent[z].kzz, parent[z ^ 1].kzz) << "both prisms of a layer";
    }
  }
}

TEST(Rock, SyntheticFieldIsSeeded) {
  const Field a = synthetic_field(12, 20, 4, 1), b = synthetic_field(12, 20, 4, 1),
              c = synthetic_field(12, 20, 4, 2);
  EXPECT_EQ(a.kx, b.kx);
  EXPECT_NE(a.kx, c.kx);
  double mean = 0, square = 0;
  for (const float k : a.kx) mean += std::log(k), square += std::log(k) * std::log(k);
  const auto n = static_cast<double>(a.kx.size());
  EXPECT_NEAR(mean / n, 2.3, 1e-4);
  EXPECT_NEAR(std::sqrt(square / n - mean * mean / n / n), 2.0, 1e-3);
}

}  // namespace

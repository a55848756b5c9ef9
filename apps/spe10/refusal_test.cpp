// SPDX-License-Identifier: Apache-2.0
// Promise: empi-spe10 ends with status 2 and one line that names file, place and reason when it is given what
// it cannot use, and with 1 and one line when it finds no answer; alone and on several ranks, of which none
// is left waiting.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"
#include "runtime/base/testing/places.hpp"

namespace {

namespace fs = std::filesystem;

struct Ended {
  int status = -1;  // 124: it had to be stopped
  std::string output;
};

Ended run(const std::string& arguments, int ranks = 1) {
  const std::string program = empi::testing::beside("empi-spe10");
  const std::string mpi =
      ranks > 1 ? "mpirun --oversubscribe --bind-to none --mca btl self,sm -n " + std::to_string(ranks) + " "
                : "";
  const std::string line = "timeout 60 " + mpi + program +
                           (arguments.find("--layers") == std::string::npos ? " --layers 2 " : " ") +
                           arguments + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + line);
  Ended ended;
  std::array<char, 512> part;
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) ended.output += part.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

void expect_refused(const Ended& ended, std::initializer_list<const char*> parts) {
  EXPECT_EQ(ended.status, 2) << ended.output;
  for (const char* part : parts)
    EXPECT_NE(ended.output.find(part), std::string::npos) << "'" << part << "' in: " << ended.output;
}

class Refusal : public testing::Test {
 protected:
  std::string data() const { return "--out " + folder.path("out") + " --data " + folder.path("") + " "; }
  std::string deck(const std::string& text) const {
    return "--out " + folder.path("out") + " --data /none --deck " + folder.write("deck.yaml", text);
  }
  void SetUp() override { fs::create_directory(folder.path("spe10_model2")); }
  io::test::ScratchFolder folder;
};

TEST_F(Refusal, BadDecksNameTheirLine) {
  expect_refused(run(deck("fluid:\n  mu_o_cp: thick\n")),
                 {"empi-spe10: ", "deck.yaml:2", "mu_o_cp", "'thick'"});
  expect_refused(
      run(deck("fluid: {swc: 0.2}\nwells:\n  - {name: A, type: producer, block: [61, 1], bhp_psi: 4000}\n")),
      {"deck.yaml:3", "from 1 to 60", "'61'"});
  expect_refused(run(deck("wells: [\n")), {"deck.yaml:"});
  expect_refused(run("--data /none --deck " + folder.path("nowhere.yaml")), {"nowhere.yaml"});
}

TEST_F(Refusal, TruncatedFieldsNameTheirByteOrLine) {
  folder.write("spe10_model2/spe10_kvclass_bits.bin", std::string(140250, '\1'));
  folder.write("spe10_model2/spe10_kx_mD_f32le.bin", std::string(4000000, '\0'));
  expect_refused(run(data()), {"spe10_kx_mD_f32le.bin:byte 4000000", "4488000"});
  folder.write("spe10_model2/spe_perm.dat", "1 2 3\n4 five 6\n");
  expect_refused(run(data()), {"spe_perm.dat:2", "permeability 5 of 3366000", "five"});
  folder.write("spe10_model2/spe_perm.dat", "1 2 3\n4 5");
  expect_refused(run(data()), {"spe_perm.dat:2", "permeability 6 of 3366000"});
}

TEST_F(Refusal, NoRankIsLeftWaiting) {
  folder.write("spe10_model2/spe_perm.dat", "1 2 3\n");
  expect_refused(run(data(), 2), {"spe_perm.dat", "permeability 4 of 3366000"});
  // What only rank 0 sees.
  folder.write("file", "x");
  expect_refused(run("--data /none --out " + folder.path("file"), 2), {"file", "a folder for the results"});
  fs::create_directories(folder.path("out/progress.json/full"));
  expect_refused(run("--data /none --out " + folder.path("out"), 2), {"progress.json", "not empty"});
}

// A field of 7 x 5 x 3 blocks, of which a corner is no part.
TEST_F(Refusal, FieldsOfOnesOwnAreFlooded) {
  const std::string grid = folder.write(
      "own.grdecl",
      "DIMENS\n 7 5 3 /\nDX\n 105*100 /\nDY\n 105*80 /\nDZ\n 105*10 /\nTOPS\n 35*8000 /\nPERMX\n 105*200 "
      "/\nPERMY\n 105*100 /\nPERMZ\n 105*20 /\nPORO\n 105*0.25 /\nACTNUM\n 5*1 2*0 28*1 70*1 /\n");
  const std::string deck =
      folder.write("own.yaml",
                   "fluid: {swc: 0.1, sor: 0.3}\ndatum_psi: 4000\nwells:\n  - {name: I, type: injector, "
                   "block: [1, 1], rate_stb_per_day: 500, bhp_psi: "
                   "8000}\n  - {name: P, type: producer, block: [7, 5], bhp_psi: 3000}\n");
  const std::string options = "--days 20 --layers 16 --out " + folder.path("out") + " --grid " + grid;
  const Ended ended = run(options + " --deck " + deck, 2);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("7 x 5 x 3 blocks, 2 blocks inactive"), std::string::npos) << ended.output;
  const std::vector<char> text = io::read_bytes(folder.path("out/spe10.json"));
  const auto results = nlohmann::json::parse(text.begin(), text.end());
  EXPECT_NEAR(results.at("pore_volume_ft3").get<double>(), 103 * 100 * 80 * 10 * 0.25, 1);
  EXPECT_LE(std::abs(results.at("water_balance").get<double>()), 1e-12);
  EXPECT_GT(results.at("wells").at(1).at("oil_stb").get<double>(), 1000);
  // What the report draws by.
  EXPECT_EQ(results.at("wells").at(1).at("at_ft"), nlohmann::json({650, 360}));
  EXPECT_EQ(results.at("mobile_saturation"), nlohmann::json({0.1, 0.7}));
  expect_refused(run(options), {"--grid without --deck"});
  expect_refused(run("--layers 2 --grid " + grid + " --deck " + deck), {"--layers with --grid"});
  folder.write("own.grdecl", "DIMENS\n 2 2 1 /\nPORO\n 0.2 0.2 0.3 x /\n");
  expect_refused(run(options + " --deck " + deck, 2), {"own.grdecl:4", "PORO 4 of 4", "'x'"});
}

// The one lack that is no reason to refuse: said in one line.
TEST_F(Refusal, MissingDataAreReplacedAndThatIsSaid) {
  const Ended ended = run("--data " + folder.path("") + " --out " + folder.path("out") +
                          " --seed 7 --coarsest 0 --finest 0 --days 0.01 --snapshot-every 0");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(ended.output.starts_with("SYNTHETIC log-normal field, seed 7, ")) << ended.output;
  EXPECT_NE(ended.output.find("(no SPE10 data in " + folder.path("") + "/spe10_model2)\n"), std::string::npos)
      << ended.output;
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
}

// It was found out by the rank that has the well, in the middle of the start, and terminated.
TEST_F(Refusal, WellsWiderThanTheirCellsAreNamed) {
  const auto with_radius = [&](double radius) {
    return deck("wells:\n  - {name: B, type: producer, block: [1, 1], bhp_psi: 4000, radius_ft: " +
                std::to_string(radius) + "}\n") +
           " --finest 8 --days 0.001 --snapshot-every 0";
  };
  const std::string start = "empi-spe10: well B: its cells are too fine for a radius of 3 ft, below ";
  const Ended ended = run(with_radius(3));
  expect_refused(ended, {"take a --finest below 8, or a smaller radius_ft"});
  ASSERT_TRUE(ended.output.starts_with(start)) << ended.output;
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  expect_refused(run(with_radius(3), 2), {start.c_str()});
  // A well that is a little narrower than that has room.
  const Ended narrower = run(with_radius(0.99 * std::stod(ended.output.substr(start.size()))));
  EXPECT_EQ(narrower.status, 0) << narrower.output;
}

// Liquids that store nothing, so that no step is short enough, in layers that are as thin as a deck may say,
// for the solver of pressures to find no answer.
TEST_F(Refusal, NoAnswerAtTheShortestStepIsAnError) {
  const std::string grid = folder.write(
      "own.grdecl",
      "DIMENS\n 5 5 3 /\nDX\n 75*1e5 /\nDY\n 75*1e5 /\nDZ\n 75*1e-3 /\nTOPS\n 25*8000 /\nPERMX\n 75*100 "
      "/\nPERMY\n 75*1 /\nPERMZ\n 75*1 /\nPORO\n 75*0.2 /\n");
  const std::string deck = folder.write(
      "own.yaml",
      "fluid: {c_w_per_psi: 0, c_o_per_psi: 0, c_rock_per_psi: 0}\nwells:\n  - {name: I, type: injector, "
      "block: [1, 1], rate_stb_per_day: 500, bhp_psi: 8000}\n  - {name: P, type: producer, block: [5, 5], "
      "bhp_psi: 3000}\n");
  const std::string arguments =
      "--layers 16 --out " + folder.path("out") + " --grid " + grid + " --deck " + deck;
  for (const int ranks : {1, 2}) {
    const Ended ended = run(arguments, ranks);
    EXPECT_EQ(ended.status, 1) << ended.output;
    EXPECT_NE(ended.output.find("empi-spe10: pressure: no convergence: residual "), std::string::npos)
        << ended.output;
    EXPECT_NE(ended.output.find(" iterations, 1e-08 wanted\n"), std::string::npos) << ended.output;
  }
}

TEST_F(Refusal, BadOptionsSayWhatIsAllowed) {
  expect_refused(run("--layers 86"), {"--layers", "85"});
  expect_refused(run("--coarsest 3 --finest 2"), {"--coarsest is finer than --finest"});
  expect_refused(run("--tolerance 1e-2"), {"--tolerance 0.01", "at most 1e-5", "would not add up"});
}

}  // namespace

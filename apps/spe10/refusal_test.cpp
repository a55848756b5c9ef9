// SPDX-License-Identifier: Apache-2.0
// Promise: empi-spe10 ends with status 2 and one line that names file, place and reason when it is given what
// it cannot use; alone and on several ranks, of which none is left waiting.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "apps/io/test_files.hpp"

namespace {

namespace fs = std::filesystem;

struct Ended {
  int status = -1;  // 124: it had to be stopped
  std::string output;
};

Ended run(const std::string& arguments, int ranks = 1) {
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "empi-spe10";
  const std::string mpi =
      ranks > 1 ? "mpirun --oversubscribe --bind-to none --mca btl self,sm -n " + std::to_string(ranks) + " "
                : "";
  const std::string line = "timeout 60 " + mpi + program + " --layers 2 " + arguments + " 2>&1";
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

TEST_F(Refusal, BadOptionsSayWhatIsAllowed) {
  expect_refused(run("--layers 86"), {"--layers", "85"});
  expect_refused(run("--coarsest 3 --finest 2"), {"--coarsest is finer than --finest"});
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Promise: the summary is what readers of Eclipse's files expect, byte by byte, with the rates of the curves
// and their totals; and OPM's `summary` (libopm-common-bin) reads it, where it is installed:
// EMPI_WITH=libopm-common-bin ./dev test -R spe10_eclipse
#include "apps/spe10/app/eclipse_summary.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "apps/io/eclipse_file.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"

namespace spe10 {
namespace {

// The arrays of a file, of each name the elements of all of that name.
struct Arrays {
  std::map<std::string, std::vector<std::int32_t>> integers;
  std::map<std::string, std::vector<float>> reals;
  std::map<std::string, std::vector<std::string>> words;
  std::vector<std::string> names;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  Arrays all() {
    while (at_ < bytes_.size()) array();
    return std::move(arrays_);
  }

 private:
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes_.at(at_++));
    return value;
  }
  std::string text(std::size_t length) {
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }
  void array() {
    EXPECT_EQ(number(), 16U);
    const std::string name = text(8);
    std::size_t left = number();
    const std::string type = text(4);
    EXPECT_EQ(number(), 16U);
    arrays_.names.push_back(name);
    while (left > 0) {
      const std::uint32_t length = number();
      const std::size_t end = at_ + length;
      EXPECT_LE(length, 4000U);
      for (; at_ < end; --left) element(name, type);
      EXPECT_EQ(number(), length);
    }
  }
  void element(const std::string& name, const std::string& type) {
    if (type == "INTE") arrays_.integers[name].push_back(std::bit_cast<std::int32_t>(number()));
    if (type == "REAL") arrays_.reals[name].push_back(std::bit_cast<float>(number()));
    if (type == "CHAR") arrays_.words[name].push_back(text(8));
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
  Arrays arrays_;
};

TEST(EclipseFile, LongArraysAreInBlocks) {
  io::EclipseFile file;
  std::vector<std::int32_t> numbers(2500);
  for (int i = 0; i < 2500; ++i) numbers[i] = 1000 - i;
  const std::vector<std::string> words(211, "longer than that");
  file.add("NUMBERS", numbers);
  file.add("WORDS", words);
  const Arrays read = Reader(file.bytes()).all();
  EXPECT_EQ(read.integers.at("NUMBERS "), numbers);
  EXPECT_EQ(read.words.at("WORDS   "), std::vector<std::string>(211, "longer t"));
}

class Summary : public testing::Test {
 protected:
  Summary() { deck.wells = {{.name = "I1", .kind = Well::Kind::Injector}, {.name = "P1"}, {.name = "P2"}}; }

  // Two steps of half a day and a day: day, step, substeps, iterations, ranks, pressure; oil, water, bhp of
  // each well.
  const std::vector<double> curves{.5,  .5, 1, 9, 2, 6000, 0, -300, 7000, 100, 0,  4000, 50, 0,  4000,
                                   1.5, 1,  1, 9, 2, 5900, 0, -310, 7100, 90,  10, 4000, 45, 15, 4000};
  Deck deck;
};

TEST_F(Summary, HasTheRatesAndTheirTotals) {
  const EclipseSummary summary = eclipse_summary(deck, curves);
  const Arrays what = Reader(summary.specification).all(), values = Reader(summary.values).all();
  const auto& keywords = what.words.at("KEYWORDS");
  const auto& wells = what.words.at("WGNAMES ");
  const std::size_t vectors = keywords.size();
  EXPECT_EQ(what.integers.at("DIMENS  ").at(0), static_cast<int>(vectors));
  EXPECT_EQ(what.words.at("UNITS   ").size(), vectors);
  EXPECT_EQ(what.integers.at("NUMS    ").size(), vectors);
  EXPECT_EQ(values.names, (std::vector<std::string>{"SEQHDR  ", "MINISTEP", "PARAMS  ", "SEQHDR  ",
                                                    "MINISTEP", "PARAMS  "}));
  const auto& rows = values.reals.at("PARAMS  ");
  ASSERT_EQ(rows.size(), 2 * vectors);
  const auto last = [&](const std::string& keyword, const std::string& well) {
    for (std::size_t v = 0; v < vectors; ++v)
      if (keywords[v] == keyword && wells[v] == well) return rows[vectors + v];
    throw std::runtime_error("no vector " + keyword + " of " + well);
  };
  const std::string field = ":+:+:+:+";
  EXPECT_FLOAT_EQ(last("TIME    ", field), 1.5);
  EXPECT_FLOAT_EQ(last("FPR     ", field), 5900);
  EXPECT_FLOAT_EQ(last("FOPR    ", field), 135);
  EXPECT_FLOAT_EQ(last("FOPT    ", field), 75 + 135);
  EXPECT_FLOAT_EQ(last("FWCT    ", field), 25. / 160);
  EXPECT_FLOAT_EQ(last("FWIT    ", field), 150 + 310);
  EXPECT_FLOAT_EQ(last("WOPT    ", "P1      "), 50 + 90);
  EXPECT_FLOAT_EQ(last("WWCT    ", "P2      "), .25);
  EXPECT_FLOAT_EQ(last("WWIR    ", "I1      "), 310);
  EXPECT_FLOAT_EQ(last("WBHP    ", "I1      "), 7100);
}

TEST_F(Summary, OpmReadsIt) {
  if (std::system("command -v summary >/dev/null") != 0) GTEST_SKIP() << "there is no program `summary`";
  const io::test::ScratchFolder folder;
  const EclipseSummary summary = eclipse_summary(deck, curves);
  io::write_text(folder.path("CASE.SMSPEC"), summary.specification);
  io::write_text(folder.path("CASE.UNSMRY"), summary.values);
  const std::string command = "summary " + folder.path("CASE.SMSPEC") + " TIME FOPT WOPT:P1 WWIR:I1";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 256> piece{};
  while (std::fgets(piece.data(), piece.size(), output.get())) text += piece.data();
  for (const char* value : {"WOPT:P1", "210", "140", "310"})
    EXPECT_NE(text.find(value), std::string::npos) << value << " is not in\n" << text;
}

}  // namespace
}  // namespace spe10

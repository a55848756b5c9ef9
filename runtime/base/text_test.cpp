// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/text.hpp"

#include <gtest/gtest.h>

namespace empi {
namespace {

TEST(Text, FormatsAsPrintfDoes) {
  EXPECT_EQ(format("%d of %s: %.2f %%", 3, "four", 75.0), "3 of four: 75.00 %");
  EXPECT_EQ(format("%s", std::string(1000, 'x').c_str()), std::string(399, 'x'));
}

TEST(Text, TellsTimesInTheUnitThatFits) {
  EXPECT_EQ(time_text(0.00085), "850 us");
  EXPECT_EQ(time_text(0.0123), "12.3 ms");
  EXPECT_EQ(time_text(4.56), "4.56 s");
  EXPECT_EQ(time_text(1), "1 s");
  EXPECT_EQ(time_text(0), "0 us");
}

TEST(Text, LongTimesAreToldAsPeopleTellThem) {
  for (const auto& [seconds, text] : {std::pair{40., "40 s"},
                                      {119.4, "119 s"},
                                      {150., "2 min 30 s"},
                                      {480., "8 min"},
                                      {599.9, "10 min"},
                                      {1250., "21 min"},
                                      {3599., "60 min"},
                                      {3600., "1 h"},
                                      {12300., "3 h 25 min"},
                                      {86400., "24 h"},
                                      {187200., "2 d 4 h"},
                                      {-150., "-2 min 30 s"},
                                      {1e300, "for ever"}})
    EXPECT_EQ(seconds_text(seconds), text) << seconds;
  EXPECT_EQ(time_text(8640), "2 h 24 min");
}

TEST(Text, AmountsHaveNoExponent) {
  EXPECT_EQ(amount_text(.12345), "0.1235");
  EXPECT_EQ(amount_text(9999), "9999");
  EXPECT_EQ(amount_text(12345678), "12345678");
  EXPECT_EQ(amount_text(-20000.4), "-20000");
}

TEST(Text, ARecordIsALineWithoutCommandsForATerminal) {
  EXPECT_EQ(one_line("a\nb\r\x1b[31mc\x7f\t\xc2\x9b\xc2\x85."), "a|b??[31mc????.");
  EXPECT_EQ(one_line("\xc3\x9b \xe2\x82\xac \xc2"), "\xc3\x9b \xe2\x82\xac \xc2") << "letters stay";
}

TEST(Text, LowersLettersOnly) { EXPECT_EQ(lower("MinReplicas \xc3\x84-9"), "minreplicas \xc3\x84-9"); }

}  // namespace
}  // namespace empi

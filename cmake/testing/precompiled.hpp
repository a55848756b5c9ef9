// SPDX-License-Identifier: Apache-2.0
// What nearly every test includes, and much of what is tested: clang compiles it once (precompile.sh).
// Nothing of the product: a source says what it needs of that.
//
// What is used here is compiled here, and in no test again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

namespace empi::precompiled {

// Nobody calls it.
inline void what_tests_say() {
  using namespace ::testing;
  using nlohmann::json;
  const std::string s = "s";
  const std::size_t n = 1;
  const std::int64_t l = 1;
  const std::uint64_t u = 1;
  const std::vector<std::string> strings{s};
  const std::vector<int> ints{1};
  const std::vector<double> doubles{1};
  const std::set<std::string> set{s};
  const std::map<std::string, std::string> map;
  const json j = {
      {"a", 1}, {"b", s}, {"c", "x"}, {"d", 1.5}, {"e", strings}, {"f", true}, {"g", json::array({1, 2})}};

  EXPECT_TRUE(true) << s << 1 << "a" << n << 1.0;
  EXPECT_FALSE(false) << strings.at(0);
  EXPECT_EQ(1, 1);
  EXPECT_EQ(n, n);
  EXPECT_EQ(n, 1);
  EXPECT_EQ(n, 1U);
  EXPECT_EQ(1U, 1U);
  EXPECT_EQ(l, l);
  EXPECT_EQ(l, 1);
  EXPECT_EQ(u, u);
  EXPECT_EQ(u, 1);
  EXPECT_EQ(u, 1U);
  EXPECT_EQ(1.0, 1.0);
  EXPECT_EQ(1.0, 1);
  EXPECT_EQ(true, true);
  EXPECT_EQ(s, s);
  EXPECT_EQ(s, "");
  EXPECT_EQ(s, "a");
  EXPECT_EQ(s, "ab");
  EXPECT_EQ("a", s);
  EXPECT_EQ(strings, strings);
  EXPECT_EQ(ints, ints);
  EXPECT_EQ(doubles, doubles);
  EXPECT_EQ(set, set);
  EXPECT_EQ(map, map);
  EXPECT_EQ(j, j);
  EXPECT_EQ(j.at("a"), 1);
  EXPECT_EQ(j["b"], "a");
  EXPECT_EQ(j.at("b"), s);
  EXPECT_EQ(j["f"], true);
  EXPECT_NE(1, 2);
  EXPECT_NE(s, s);
  EXPECT_NE(s, "");
  EXPECT_NE(s.find(s), std::string::npos);
  EXPECT_NE(n, n);
  EXPECT_LT(1, 2);
  EXPECT_LE(1, 2);
  EXPECT_GT(1, 2);
  EXPECT_GE(1, 2);
  EXPECT_LT(1.0, 2.0);
  EXPECT_LE(1.0, 2.0);
  EXPECT_GT(1.0, 2.0);
  EXPECT_GE(1.0, 2.0);
  EXPECT_LT(n, n);
  EXPECT_LE(n, n);
  EXPECT_GT(n, n);
  EXPECT_GT(n, 0U);
  EXPECT_GT(1.0, 2);
  EXPECT_NEAR(1, 1, 1);
  EXPECT_DOUBLE_EQ(1, 1);
  EXPECT_STREQ("a", "a");
  EXPECT_THAT(s, HasSubstr("a"));
  EXPECT_THAT(s, HasSubstr(s));
  EXPECT_THAT(s, Not(HasSubstr("a")));
  EXPECT_THAT(s, StartsWith("a"));
  EXPECT_THAT(s, AllOf(HasSubstr("a"), HasSubstr("b")));
  EXPECT_THAT(s, IsEmpty());
  EXPECT_THAT(s, Eq("a"));
  EXPECT_THAT(strings, IsEmpty());
  EXPECT_THAT(strings, SizeIs(1));
  EXPECT_THAT(strings, Contains("a"));
  EXPECT_THAT(strings, Contains(HasSubstr("a")));
  EXPECT_THAT(strings, ElementsAre("a"));
  EXPECT_THAT(strings, ElementsAre("a", "b"));
  EXPECT_THAT(strings, UnorderedElementsAre("a", "b"));
  EXPECT_THAT(strings, ElementsAre(HasSubstr("a")));
  EXPECT_THAT(ints, ElementsAre(1));
  EXPECT_THAT(ints, ElementsAre(1, 2));
  EXPECT_THAT(ints, ElementsAre(1, 2, 3));

  const auto seconds = std::chrono::seconds(1);
  const auto millis = std::chrono::milliseconds(1);
  const auto nanos = std::chrono::nanoseconds(1);
  const auto time = std::chrono::sys_time<std::chrono::milliseconds>(millis);
  EXPECT_EQ(seconds, seconds);
  EXPECT_EQ(millis, millis);
  EXPECT_EQ(nanos, nanos);
  EXPECT_EQ(time, time);
  EXPECT_LT(millis, millis);
  EXPECT_LE(millis, millis);
  EXPECT_GE(millis, millis);
  EXPECT_GT(millis, millis);
  void(std::format("{:%FT%T}Z", time));
  void(std::format("{:%FT%TZ}", std::chrono::sys_seconds(seconds)));
  void(std::format("{:%FT%TZ}",
                   std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now())));

  void(json::parse(s).dump());
  void(json::parse(s, nullptr, false));
  void(j.value("a", 1));
  void(j.value("b", ""));
  void(j.value("b", s));
  void(j.get<std::string>());
  void(j.get<int>());
  void(j.get<std::int64_t>());
  void(j.get<double>());
  void(j.get<bool>());
  void(j.get<std::vector<std::string>>());
  void(j.get<std::map<std::string, std::string>>());
  void(std::format("{}", 1));
  void(std::format("{}", s));
  void(std::format("{} {}", s, 1));
  void(std::format("{:.1f}", 1.0));
  std::stringstream text;
  text << std::ifstream(s).rdbuf() << n << l << u << std::filesystem::path(s);
  std::ofstream(s) << s;
  int number = 0;
  std::from_chars(s.data(), s.data() + n, number);
  text << std::to_string(1) + s + "a" + 'a' << std::to_string(n) << std::to_string(l) << std::to_string(1.0)
       << ("a" + s);
  std::mt19937 twister(1);
  std::mt19937_64 twister64(1);
  text << twister() << twister64() << std::uniform_int_distribution<int>(0, 1)(twister)
       << std::uniform_real_distribution<double>()(twister64);
  const auto shared = std::make_shared<std::string>(s);
  for (const auto& entry : std::filesystem::directory_iterator(s)) void(entry.path().filename().string());
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

}  // namespace empi::precompiled

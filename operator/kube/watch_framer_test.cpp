// SPDX-License-Identifier: Apache-2.0
// Pitfall 5: chunks are cut anywhere; half a line is no event; a line has a greatest length.

#include "operator/kube/watch_framer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace emj::kube {
namespace {

using nlohmann::json;

struct Collected {
  std::vector<std::string> events;
  WatchFramer::Receive receive() {
    return [this](const WatchEvent& event) {
      events.push_back(std::string(to_string(event.type)) + event.object.dump());
      return true;
    };
  }
};

bool feed(WatchFramer& framer, const std::string& text, Collected& collected) {
  return framer.feed(text.data(), text.size(), collected.receive());
}

TEST(Framer, AllTypes) {
  WatchFramer framer;
  Collected collected;
  for (const char* type : {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
    EXPECT_TRUE(
        feed(framer, std::string(R"({"type":")") + type + R"(","object":{"a":1}})" + "\n\r\n", collected));
  EXPECT_EQ(collected.events,
            (std::vector<std::string>{R"(ADDED{"a":1})", R"(MODIFIED{"a":1})", R"(DELETED{"a":1})",
                                      R"(BOOKMARK{"a":1})", R"(ERROR{"a":1})"}));
  EXPECT_FALSE(framer.half_line());
}

TEST(Framer, RandomSplitsGiveTheSameEvents) {
  std::mt19937 random(7);  // fixed: a failure can be repeated
  std::string stream;
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    json object{{"n", i}, {"text", std::string(random() % 200, 'x') + "\xc3\xa9 \\n \n"}};
    expected.push_back("ADDED" + object.dump());
    stream += json{{"type", "ADDED"}, {"object", object}}.dump() + (random() % 4 == 0 ? "\r\n\n" : "\n");
  }
  for (int round = 0; round < 60; ++round) {
    WatchFramer framer;
    Collected collected;
    const std::size_t longest = 1 + random() % (round % 2 ? 5 : 3000);
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = std::min<std::size_t>(stream.size() - at, 1 + random() % longest);
      ASSERT_TRUE(framer.feed(stream.data() + at, size, collected.receive()));
      at += size;
    }
    ASSERT_EQ(collected.events, expected) << "round " << round;
    ASSERT_FALSE(framer.half_line());
  }
}

// Damage of any kind ends in a problem or in fewer events: never in a crash or in an event nobody sent.
TEST(Framer, DamagedStreamsNeverInventEvents) {
  std::mt19937 random(8);
  const std::string line = R"({"type":"MODIFIED","object":{"metadata":{"name":"p","resourceVersion":"5"}}})"
                           "\n";
  const std::string whole = line + line + line;
  for (int round = 0; round < 3000; ++round) {
    std::string stream = whole;
    for (int i = 0; i < 3; ++i) stream[random() % stream.size()] = static_cast<char>(random());
    WatchFramer framer(200);
    std::size_t events = 0;
    framer.feed(stream.data(), stream.size(), [&](const WatchEvent& event) {
      ++events;
      EXPECT_TRUE(event.object.is_object());
      return true;
    });
    EXPECT_LE(events, 3u);
  }
}

TEST(Framer, HalfALineIsNoEvent) {
  WatchFramer framer;
  Collected collected;
  EXPECT_TRUE(feed(framer, R"({"type":"ADDED","object":{}})", collected));  // complete JSON, yet no newline
  EXPECT_TRUE(collected.events.empty());
  EXPECT_TRUE(framer.half_line());
}

TEST(Framer, LinesHaveAGreatestLength) {
  const std::string line = R"({"type":"ADDED","object":{}})";
  Collected collected;
  WatchFramer exact(line.size());
  EXPECT_TRUE(feed(exact, line + "\n" + line + "\n", collected));
  EXPECT_EQ(collected.events.size(), 2u);
  WatchFramer small(line.size() - 1);
  EXPECT_TRUE(feed(small, line.substr(0, 10), collected));
  EXPECT_FALSE(feed(small, line.substr(10) + "\n", collected));
  EXPECT_NE(small.problem(), "");
  EXPECT_FALSE(feed(small, line + "\n", collected));  // nothing more is accepted
  EXPECT_EQ(collected.events.size(), 2u);
}

TEST(Framer, SaysWhatItCannotRead) {
  const auto problem = [](const std::string& line) {
    WatchFramer framer;
    Collected collected;
    EXPECT_FALSE(feed(framer, line + "\n", collected));
    EXPECT_TRUE(collected.events.empty());
    return framer.problem();
  };
  EXPECT_EQ(problem("{"), "an event cannot be read: no JSON object");
  EXPECT_EQ(problem("[]"), "an event cannot be read: no JSON object");
  EXPECT_EQ(problem("{}"), "an event cannot be read: it has no type");
  EXPECT_EQ(problem(R"({"type":"NEW","object":{}})"), "an event cannot be read: its type is 'NEW'");
  EXPECT_EQ(problem(R"({"type":"ADDED","object":null})"), "an event cannot be read: it has no object");
}

TEST(Framer, TheReceiverMayEndIt) {
  WatchFramer framer;
  int events = 0;
  const std::string stream = "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"ADDED\",\"object\":{}}\n";
  EXPECT_FALSE(framer.feed(stream.data(), stream.size(), [&](const WatchEvent&) { return ++events < 1; }));
  EXPECT_EQ(events, 1);
  EXPECT_EQ(framer.problem(), "");
}

}  // namespace
}  // namespace emj::kube

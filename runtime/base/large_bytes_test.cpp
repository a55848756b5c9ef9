// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/large_bytes.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace empi {
namespace {

std::vector<std::byte> numbered(std::size_t count, int first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((static_cast<std::size_t>(first) + i) % 251);
  return bytes;
}

TEST(LargeBytes, HoldWhatWasAppended) {
  LargeBytes bytes;
  EXPECT_TRUE(bytes.empty());
  bytes.append({});
  EXPECT_TRUE(bytes.empty());
  std::vector<std::byte> expected;
  // Smaller than a page, some pages, more than a large page.
  for (const std::size_t count : {3UL, 70'000UL, 5UL << 20, 1UL}) {
    const auto more = numbered(count, static_cast<int>(count % 100));
    bytes.append(more);
    expected.insert(expected.end(), more.begin(), more.end());
    ASSERT_EQ(bytes.size(), expected.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin())) << "after " << count << " more";
  }
}

TEST(LargeBytes, KeepTheirMemoryWhereTheyAreCleared) {
  LargeBytes bytes(5UL << 20);
  const std::byte* const before = bytes.data();
  bytes.clear();
  EXPECT_TRUE(bytes.empty());
  bytes.append(numbered(4UL << 20, 7));
  EXPECT_EQ(bytes.data(), before);
  EXPECT_EQ(bytes.size(), 4UL << 20);
  EXPECT_EQ(bytes.data()[1], std::byte{8});
}

TEST(LargeBytes, AreMovedFrom) {
  LargeBytes bytes;
  bytes.append(numbered(10, 0));
  LargeBytes other = std::move(bytes);
  EXPECT_EQ(other.size(), 10U);
  EXPECT_TRUE(bytes.empty());  // NOLINT(bugprone-use-after-move): as promised
  bytes = LargeBytes(4);
  EXPECT_EQ(bytes.size(), 4U);
}

TEST(LargeBytes, AreAsTheyWereWhereThereIsNoMemory) {
  LargeBytes bytes;
  bytes.append(numbered(10, 0));
  // An optimising compiler must not know it, or warns of the copy that is never made.
  const volatile std::size_t far = std::numeric_limits<std::ptrdiff_t>::max() - 100UL;
  const std::span<const std::byte> far_too_many(bytes.data(), far);
  EXPECT_THROW(bytes.append(far_too_many), std::bad_alloc);
  EXPECT_THROW(LargeBytes(std::numeric_limits<std::ptrdiff_t>::max() - 100UL), std::bad_alloc);
  ASSERT_EQ(bytes.size(), 10U);
  EXPECT_EQ(bytes.data()[9], std::byte{9});
}

}  // namespace
}  // namespace empi

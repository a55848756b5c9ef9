// SPDX-License-Identifier: Apache-2.0
// A set of worker indices with the short text form "0-3,7" that status, logs and events use.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emj {

class IndexSet {
 public:
  IndexSet() = default;
  IndexSet(std::initializer_list<int> indices);
  explicit IndexSet(const std::vector<int>& indices);

  // Empty text is the empty set; nullopt when the text is no such list.
  static std::optional<IndexSet> parse(std::string_view text);

  void insert(int index);
  void erase(int index);
  bool contains(int index) const;
  bool empty() const { return indices_.empty(); }
  int size() const { return static_cast<int>(indices_.size()); }
  const std::vector<int>& ascending() const { return indices_; }
  auto begin() const { return indices_.begin(); }
  auto end() const { return indices_.end(); }

  bool operator==(const IndexSet&) const = default;

 private:
  std::vector<int> indices_;  // ascending, no duplicates
};

std::string to_string(const IndexSet& set);
IndexSet set_union(const IndexSet& a, const IndexSet& b);
IndexSet set_difference(const IndexSet& a, const IndexSet& b);

}  // namespace emj

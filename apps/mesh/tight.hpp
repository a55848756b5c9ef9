// SPDX-License-Identifier: Apache-2.0
// Vectors with a value for each cell or edge grow by a sixteenth more than they must. std::vector's own
// growth doubles what a mesh takes that needs a few cells more; without any room, each adaption would move
// them all. Long ones ask for huge pages: a pass over an array that no cache holds looks up fewer of them.
#pragma once
#include <cstddef>
#include <vector>

#include "runtime/base/huge_pages.hpp"

namespace mesh {

template <class T>
void reserve_tight(std::vector<T>& values, std::size_t count) {
  if (values.capacity() >= count) return;
  std::vector<T> roomy;
  roomy.reserve(count + count / 16);
  empi::ask_for_huge_pages(roomy.data(), roomy.capacity() * sizeof(T));
  roomy.insert(roomy.end(), values.begin(), values.end());
  values.swap(roomy);
}

template <class T>
void resize_tight(std::vector<T>& values, std::size_t count) {
  reserve_tight(values, count);
  values.resize(count);
}

// Of an empty one, which may have had far more.
template <class T>
void fit_tight(std::vector<T>& values, std::size_t count) {
  if (values.capacity() > count + count / 8) std::vector<T>().swap(values);
  reserve_tight(values, count);
}

// That these take, used or not.
template <class... T>
std::size_t bytes_of(const std::vector<T>&... vectors) {
  return (... + (vectors.capacity() * sizeof(T)));
}

}  // namespace mesh

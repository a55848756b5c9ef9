// SPDX-License-Identifier: Apache-2.0
// What a step does with the sections of the curve: threads take one after the other, and what they find does
// not depend on which of them took it. Reductions are maxima and conjunctions, which know no order.
#include <omp.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "apps/mesh/tight.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace swe {

template <class Stored>
Connections BasicSolver<Stored>::connections() const {
  const mesh::Edges& e = mesh_.edges();
  return {mesh_.cell_slots().data(),
          e.left.data(),
          e.right.data(),
          e.classes.data(),
          metric_.edge_table(),
          kinds_.data(),
          static_cast<std::int32_t>(e.size() - mesh_.boundary().size())};
}

template <class Stored>
void BasicSolver<Stored>::set_threads(int count) {
  if (count < 1) throw std::invalid_argument("swe: " + std::to_string(count) + " threads were asked for");
  threads_ = count;
  scratch_.resize(static_cast<std::size_t>(count));
  for (Scratch& s : scratch_) s.fit(sections_.widest());
}

// States of halo and exterior cells. Collective.
template <class Stored>
void BasicSolver<Stored>::fill_halo(double time) {
  const std::array moving{eta_.data(), hu_.data(), hv_.data()};
  mesh_.halo().start<Stored>(moving, mesh_.halo().cells(), halo_receive_);
  fill_exterior(time);
}

// Returns the largest speed * length / area of this rank. Collective.
template <class Stored>
double BasicSolver<Stored>::find_gains(double time) {
  fill_halo(time);
  if (setup_.physics.order == 2) {
    mesh_.halo().finish();
    find_outer_faces();
    const std::array at_faces{outer_[0].data(), outer_[1].data(), outer_[2].data(), outer_[3].data()};
    mesh_.halo().start<double>(at_faces, face_send_, face_receive_);
  }
  const double rate = section_gains(false);
  mesh_.halo().finish();
  return std::max(rate, section_gains(true));
}

// Of the sections that wait for other ranks, or of the others.
template <class Stored>
double BasicSolver<Stored>::section_gains(bool waiting) {
  const Connections c = connections();
  const Fields<Stored> fields = this->fields();
  const Gains<Stored> gains = this->gains();
  const FaceStates outer = outer_faces();
  const bool second = setup_.physics.order == 2;
  double rate = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads_) reduction(max : rate) if (threads_ > 1)
  for (std::int32_t s = 0; s < sections_.count(); ++s) {
    const Section section = sections_[s];
    if (section.waits != waiting) continue;
    Scratch& scratch = scratch_[static_cast<std::size_t>(omp_get_thread_num())];
    const double fastest =
        second ? gains_order2(setup_.physics, fields, c, section, outer, scratch, gains, border_mass_.data())
               : gains_order1(setup_.physics, fields, c, section, scratch, gains, border_mass_.data());
    rate = std::max(rate, fastest);
  }
  return rate;
}

// Adds what the gains of dt bring. False if a cell is unsound then.
template <class Stored>
bool BasicSolver<Stored>::advance(double dt, Stage stage) {
  const Fields<Stored> fields = this->fields();
  const Gains<Stored> gains = this->gains();
  const Saved<Stored> saved{spare_[0].data(), spare_[1].data(), spare_[2].data()};
  bool sound = true;
#pragma omp parallel for num_threads(threads_) reduction(&& : sound) if (threads_ > 1)
  for (std::int32_t s = 0; s < sections_.count(); ++s) {
    const Section section = sections_[s];
    const bool good = update_cells(setup_.physics, fields, inverse_area_.data(), dt, section.cell_begin,
                                   section.cell_end, gains, stage, saved);
    sound = sound && good;
  }
  return sound;
}

template <class Stored>
std::size_t BasicSolver<Stored>::bytes() const {
  using mesh::bytes_of;
  std::size_t sum =
      mesh_.bytes() + sections_.bytes() +
      bytes_of(eta_, hu_, hv_, b_, inverse_area_, border_mass_, kinds_, their_faces_, outer_faces_, bisected_,
               slopes_, halo_receive_, face_send_, face_receive_, rough_, roughness_);
  for (const auto* arrays : {spare_, gains_}) sum += bytes_of(arrays[0], arrays[1], arrays[2]);
  for (const auto& array : outer_) sum += bytes_of(array);
  return sum + bytes_of(elements_);
}

template class BasicSolver<double>;
template class BasicSolver<float>;

}  // namespace swe

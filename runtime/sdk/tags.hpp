// SPDX-License-Identifier: Apache-2.0
// Tags of the messages that the library sends beside the program's own collectives: each kind has its own.
#pragma once

namespace elastic::tags {

inline constexpr int kSequence = 7211;  // rows that change their owner
inline constexpr int kCopies = 7212;    // copies to the ranks that keep them
inline constexpr int kRestore = 7213;   // copies back, after a loss

}  // namespace elastic::tags

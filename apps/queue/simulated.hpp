// SPDX-License-Identifier: Apache-2.0
// What `empi simulate --out DIR` has left, as pictures: utilisation.png, waits.png, sizes.png, and gantt.png
// where there are few enough jobs to tell apart.
#pragma once
#include <filesystem>
#include <vector>

namespace queue_pictures {

/// The pictures that were written. Throws io::FileError.
std::vector<std::filesystem::path> draw_simulated(const std::filesystem::path& folder);

}  // namespace queue_pictures

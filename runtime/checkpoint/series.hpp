// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a job in a folder: their names, and which of them to take or to delete. Pure.
//
//   jacobi.000007.h5               whole: it got this name when all of it was on the volume
//   .jacobi.000008.5f0c2a11.part   being written, or left by a job that has ended
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace empi::checkpoint {

std::string whole_name(const std::string& program, std::int64_t number);
// nonce: unlike that of any other attempt, so that a straggler of an earlier one does no harm.
std::string part_name(const std::string& program, std::int64_t number, std::uint32_t nonce);

// The number in such a name; nothing for any other name, and for those of other programs.
std::optional<std::int64_t> whole_number(const std::string& program, const std::string& name);
std::optional<std::int64_t> part_number(const std::string& program, const std::string& name);

// The program's whole checkpoints among `names`, newest first: the order to try them in.
std::vector<std::string> newest_first(const std::string& program, const std::vector<std::string>& names);

// The number of the next checkpoint: above all that are there, whole or not, so that no name comes again.
std::int64_t next_number(const std::string& program, const std::vector<std::string>& names);

}  // namespace empi::checkpoint

// SPDX-License-Identifier: Apache-2.0
// The few ways in which this program starts others.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/unique_fd.hpp"

namespace emj::local {

using empi::UniqueFd;

// Both ends close on exec. Throws std::system_error.
std::pair<UniqueFd, UniqueFd> make_pipe();
std::pair<UniqueFd, UniqueFd> make_socket_pair();

struct ProgramResult {
  int exit_code = 0;   // 127 when the program does not exist, 128 + signal when it was killed
  std::string output;  // standard output and error together

  bool ok() const { return exit_code == 0; }
};

// Runs a program from PATH, /usr/sbin or /sbin to its end, with `input` on its standard input.
ProgramResult run_program(const std::vector<std::string>& argv, const std::string& input = {});

// Starts argv[0] (a path) with these descriptors ({ours, the child's number}) and a clean signal mask.
// Throws std::system_error.
pid_t spawn(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::vector<std::pair<int, int>>& descriptors);

// The exit code of a wait status as shells count: 128 + signal for a killed process.
int exit_code_of(int wait_status);

std::string own_program();           // to start this executable again
std::filesystem::path own_folder();  // where this executable is
// Next to this executable, else on PATH.
std::optional<std::string> find_program(const std::string& name);

std::string random_uuid();   // RFC 9562 version 4
std::string random_token();  // 64 hexadecimal digits

// Whole-file helpers; write_file_atomically never leaves half a file under the final name.
std::optional<std::string> read_file(const std::string& path);
bool can_be_read_again(const std::string& path);  // a file it is: no pipe, no device, no folder
void write_file_atomically(const std::string& path, const std::string& text, unsigned mode = 0644);

}  // namespace emj::local

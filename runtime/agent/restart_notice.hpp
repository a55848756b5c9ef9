// SPDX-License-Identifier: Apache-2.0
// How the ranks of a restartable program are told to write what they go on from and to end: by a signal, a
// file or a command, as the job says (spec.runtime.restart). They are no concern of the agent's otherwise:
// the program is a rigid one, and ends by itself.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace empi::agent {

struct RestartNotice {
  int signal = 0;                    // to every rank of this pod; 0: one of the others
  std::string file;                  // made by the notice, removed before a start
  std::vector<std::string> command;  // run in this pod, in the agent's environment

  bool given() const { return signal != 0 || !file.empty() || !command.empty(); }
};

// The text of names::kRestartNotice; empty for programs that are not restartable. Throws
// std::invalid_argument with what was expected.
RestartNotice restart_notice_from(const std::string& text);

// What is left of an earlier notice, which would end the next run at once. Throws std::system_error.
void withdraw(const RestartNotice& notice);

// `to_ranks` sends a signal to those of this pod. Throws std::system_error: nobody was told. A command is
// started and not waited for: whoever waits for the agent's children takes it in.
void give(const RestartNotice& notice, const std::function<void(int signal)>& to_ranks);

}  // namespace empi::agent

// SPDX-License-Identifier: Apache-2.0
// Test fixture: TCP ports for servers of a test.
#pragma once

namespace empi::testing {

// On 127.0.0.1; of no other test's process, and given once in a while only. Throws std::runtime_error.
int free_port();

}  // namespace empi::testing

// SPDX-License-Identifier: Apache-2.0
// The Secret with the root key, made by the operator itself where there is none: a chart that is rendered
// again and again, or kept in a repository, has no key in it and changes none.
#pragma once
#include <string>

#include "operator/kube/client.hpp"

namespace emj::manager {

inline constexpr const char* kRootKeyEntry = "key";

// What the Secret holds, after it was made if need be; whoever makes it first has made it for all. Throws
// std::runtime_error saying what to do.
std::string ensure_root_key(kube::Client& client, const kube::ObjectKey& secret);

}  // namespace emj::manager

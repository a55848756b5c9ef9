// SPDX-License-Identifier: Apache-2.0
// What is behind elastic_loop.h, for its sources.
#pragma once
#include <cstdio>
#include <exception>

#include "elastic_loop.h"
#include "elastic_mpi.hpp"

struct elastic_loop {
  elastic_loop(int& argc, char**& argv) : loop(argc, argv) {}
  elastic::Loop loop;
};

namespace elastic {

// No exception leaves a function of C: what it says is said here.
template <class Work>
int said(const char* function, Work work) {
  try {
    work();
    return MPI_SUCCESS;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", function, e.what());
    return MPI_ERR_ARG;
  }
}

}  // namespace elastic

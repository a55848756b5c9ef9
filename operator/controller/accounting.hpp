// SPDX-License-Identifier: Apache-2.0
// What a job has used, in one line that outlives it: a record of the Standard Workload Format (version 2.2,
// 18 numbers; `empi simulate` reads it), and behind that, as a comment, what the format has no field for.
// Pure.
//
//   1834 1790000000 12 340 16 -1 -1 8 600 -1 1 77 -1 5 9 -1 -1 -1 ; namespace=a name=b queue=main
//       uid=... workerSeconds=2720.5 state=Succeeded        (all in one line)
//
// Times are in seconds, the submission since 1970; processors are ranks: workers times slots. What has a name
// here and a number there (job, user, executable, queue) has one that is made of the name, the same in each
// line; the user is the namespace.
#pragma once
#include <string>

#include "operator/controller/cluster.hpp"

namespace emj {

// `now`: when it has ended, if its status does not say that since it was deleted.
std::string accounting_line(const ElasticMPIJob& job, Time now);

// In the operator's log. No other line of it begins with a job and this word, whatever tenants have had put
// into it: a word behind the job is a reason of the operator's own.
std::string accounting_entry(const JobKey& job, const std::string& line);

}  // namespace emj

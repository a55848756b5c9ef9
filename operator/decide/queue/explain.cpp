// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/queue/explain.hpp"

#include <algorithm>
#include <vector>

#include "operator/decide/queue/backfill.hpp"
#include "operator/decide/queue/ledger.hpp"
#include "runtime/base/text.hpp"

namespace emj::queue {
namespace {

using empi::amount_text;
using empi::format;
using empi::seconds_text;

std::string workers_text(std::int64_t count) {
  return format("%lld worker%s", static_cast<long long>(count), count == 1 ? "" : "s");
}

// Of memory and devices only what `asked` wants some of.
std::string amounts_text(const Resources& resources, const Resources& asked) {
  std::string text = amount_text(static_cast<double>(resources.milli_cpu) / 1000) + " CPU";
  if (asked.memory_mib > 0)
    text += " and " + amount_text(static_cast<double>(resources.memory_mib) / 1024) + " GiB";
  for (std::size_t k = 0; k < kDevices; ++k)
    if (asked.devices[k] > 0)
      text += format(" and %lld ", static_cast<long long>(resources.devices[k])) + device_name(k);
  return text;
}

std::string before_text(int jobs) { return format("%d job%s", jobs, jobs == 1 ? "" : "s"); }

std::string waited_text(const Demand& job, Time now) { return seconds_text(seconds_between(job.since, now)); }

std::string size_text(const Demand& job, const Grant& grant) {
  return format("%d -> %d", job.allocation.workers, grant.allocation.workers);
}

// Why none of its pools can ever hold it.
std::string nowhere(const QueueState& state, const Demand& job) {
  std::string text, hint = "; make nodes of such labels ready for it (kubectl get nodes --show-labels)";
  for (const int place : pools_of(state, job)) {
    const Pool& pool = state.pools[place];
    text += text.empty() ? ": " : ", ";
    text += "pool " + pool.name;
    if (pool.without_nodes) {
      text += " has no node" + (pool.no_nodes.empty() ? "" : ": " + pool.no_nodes);
    } else {
      text += " has " + amounts_text(pool.capacity, job.worker);
      hint = "; make minReplicas smaller or the pool larger";
    }
  }
  return text + hint;
}

// Workers of its size that are free, and which of what they take is short.
std::string free_text(const Resources& open, const Demand& job) {
  const std::int64_t workers = times(job.worker, open);
  const std::int64_t by_cpu = times({job.worker.milli_cpu, 0}, open);
  std::string text = format("%lld free", static_cast<long long>(workers));
  if (workers == by_cpu) return text;
  std::string scarce = "memory";
  for (std::size_t k = 0; k < kDevices; ++k)
    if (job.worker.devices[k] > 0 && open.devices[k] / job.worker.devices[k] == workers)
      scarce = device_name(k);
  return text + " (by " + scarce + format("; %lld by CPU)", static_cast<long long>(by_cpu));
}

// What running jobs do not give since their programs say that they need it now, in workers of its size.
std::string kept_text(const QueueState& state, int pool, const Demand& waiting) {
  Resources kept;
  for (const Demand& job : state.jobs)
    if (!job.queued() && job.allocation.pool == pool)
      kept += job.of(yields_down_to(job, waiting.priority) -
                     yields_down_to(job, waiting.priority, Donation::Due));
  if (!any_positive(kept)) return "";
  return format(" (%lld more are kept: programs say that they need them now)",
                static_cast<long long>(times(waiting.worker, kept)));
}

// That a running job is taken below what its program says.
std::string below_need_text(const Demand& job, const Grant& grant, const char* why) {
  if (grant.allocation.workers >= job.keeps) return "";
  return format(", below the %d that its program says it needs: %s", job.keeps, why);
}

// Who could be taken down for it: those that have the most to give by name.
std::string donors_text(const QueueState& state, int pool, const Resources& open, const Demand& waiting) {
  constexpr std::size_t named = 2;
  struct Donor {
    const Demand* job;
    int least;
  };
  std::vector<Donor> donors;
  for (const Demand& job : state.jobs) {
    const int least = job.queued() || job.allocation.pool != pool ? job.allocation.workers
                                                                  : yields_down_to(job, waiting.priority);
    if (least < job.allocation.workers) donors.push_back({&job, least});
  }
  // Of equal ones the first: they are in the order of the jobs.
  const auto shown = donors.begin() + static_cast<std::ptrdiff_t>(std::min(named, donors.size()));
  std::ranges::partial_sort(donors, shown, [](const Donor& a, const Donor& b) {
    const int more = a.job->allocation.workers - a.least, less = b.job->allocation.workers - b.least;
    return more != less ? more > less : a.job < b.job;
  });
  const std::int64_t workers =
      times(waiting.worker, open + surplus(state, pool, waiting.priority)) - times(waiting.worker, open);
  std::string text = format("%lld can be had from ", static_cast<long long>(workers));
  if (donors.empty()) return text + "others" + kept_text(state, pool, waiting);
  for (std::size_t i = 0; i < std::min(named, donors.size()); ++i)
    text += (i == 0 ? "" : ", ") + donors[i].job->name +
            format(" (%d -> %d)", donors[i].job->allocation.workers, donors[i].least);
  if (donors.size() > named) text += format(" and %d others", static_cast<int>(donors.size() - named));
  return text + kept_text(state, pool, waiting);
}

}  // namespace

std::string explain(const QueueState& state, const Grant& grant, Time now) {
  const Demand& job = state.jobs[grant.job];
  const Demand* other = grant.other < 0 ? nullptr : &state.jobs[grant.other];
  const int less = job.allocation.workers - grant.allocation.workers;
  switch (grant.kind) {
    case Grant::Kind::Start:
      return "starts with " + workers_text(grant.allocation.workers) + " after " + waited_text(job, now);
    case Grant::Kind::Backfill:
      return "starts with " + workers_text(grant.allocation.workers) + " after " + waited_text(job, now) +
             ", ahead of jobs that wait for more: it does not delay the first of them";
    case Grant::Kind::Promise:
      return "is promised " + workers_text(grant.allocation.promised) +
             ", as soon as others have let go of them";
    case Grant::Kind::Withdraw:
      return "loses the promise of " + workers_text(job.allocation.promised) +
             (other                     ? " to " + other->name + ", which has a higher priority"
              : job.allocation.pool < 0 ? ": the queue has no such pool any more"
              : grant.by_quota          ? ": the ResourceQuotas of namespace " + job.namespace_name +
                                     " have no room for them any more"
                               : ": the pool has become too small");
    case Grant::Kind::Yield:
      return "yields " + workers_text(less) + " to " + other->name + ", which has waited " +
             waited_text(*other, now) + " (" + size_text(job, grant) + ")" +
             below_need_text(job, grant, "they were promised before");
    case Grant::Kind::GiveBack:
      return "gives back " + workers_text(less) + ": the pool has become smaller (" + size_text(job, grant) +
             ")" + below_need_text(job, grant, "no other has as many to give");
    case Grant::Kind::Grow:
      return "grows " + size_text(job, grant) +
             (grant.left > 0 ? ": " + seconds_text(grant.saved) + " saved of " + seconds_text(grant.left) +
                                   ", a change costs " + seconds_text(job.lost_seconds)
                             : ": promised before");
    case Grant::Kind::Move:
      return "gives " + workers_text(less) + " to " + other->name + ", which saves " +
             seconds_text(grant.saved) + " by them (" + size_text(job, grant) + ")";
    case Grant::Kind::Migrate:
      return "moves from pool " + state.pools[job.allocation.pool].name + " to " +
             state.pools[grant.allocation.pool].name + " (" + size_text(job, grant) +
             "), which pays for both changes: " + grant.words;
    case Grant::Kind::Leave:
      return "leaves pool " + state.pools[job.allocation.pool].name +
             ", which has no room for it any more, for " + state.pools[grant.allocation.pool].name + " (" +
             size_text(job, grant) + ")";
  }
  return {};
}

std::string explain_waiting(const QueueState& state, const Plan& plan, int job) {
  const Demand& demand = state.jobs[job];
  const auto place = std::find(plan.waiting.begin(), plan.waiting.end(), job);
  const auto reserved = std::find_if(plan.reservations.begin(), plan.reservations.end(),
                                     [job](const Reservation& r) { return r.job == job; });
  const int pool = reserved == plan.reservations.end() ? pools_of(state, demand).front() : reserved->pool;
  const Hold hold = state.rules.hold;
  const std::string held = hold == Hold::None ? "" : "the queue holds, and starts nobody (spec.hold); ";
  std::string text = held + before_text(static_cast<int>(place - plan.waiting.begin())) +
                     " before it; needs " + workers_text(sizes_in(demand, pool).floor) + " of " +
                     amounts_text(demand.worker, demand.worker);
  if (!placeable(state, demand)) return text + nowhere(state, demand);
  const auto barred = std::ranges::find(plan.barred, job, &Barred::job);
  if (barred != plan.barred.end())
    return text + ": the ResourceQuotas of namespace " + demand.namespace_name + " leave room for " +
           std::to_string(barred->room);
  const Ledger ledger = make_ledgers(state)[pool];
  const Resources open = positive(ledger.free - ledger.promised);
  text += ": " + free_text(open, demand);
  if (free_only_in(demand, pool))
    return text + ", and it takes only what is free: what it was given before found no node, twice";
  return text + ", " + donors_text(state, pool, open, demand);
}

}  // namespace emj::queue

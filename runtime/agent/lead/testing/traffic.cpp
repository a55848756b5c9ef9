// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/lead/testing/traffic.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/agent/lead/testing/program.hpp"

namespace empi::agent::histories {
namespace {

using namespace std::chrono_literals;

constexpr int kEventCode = -25;

std::string data_of(const ProcId& proc) { return "data of " + name_of(proc); }
std::string part_of(const std::string& uid) { return "<" + uid + ">"; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  if (part.empty()) return n;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

std::uint64_t Traffic::open(SimulatedPod& pod, const std::string& what) {
  open_[next_] = {pod.uid(), what};
  return next_++;
}

bool Traffic::close(std::uint64_t number, const std::string& what) {
  ++answered_;
  if (open_.erase(number) > 0) return true;
  world_.violate(what + " is answered twice");
  return false;
}

template <class Request>
void Traffic::ask(SimulatedPod& pod, const std::string& what, Request request,
                  std::function<void(const Reply&)> done) {
  const std::uint64_t number = open(pod, what);
  pod.act([this, number, what, request = std::move(request), done = std::move(done)](Pod& agent) {
    agent.request(request, "", [this, number, what, done](const Reply& reply) {
      if (close(number, what)) done(reply);
    });
  });
}

void Traffic::collective(SimulatedPod& pod, const std::string& kind, const RankRuns& procs, Done done) {
  const std::string part = world_.meter ? "" : part_of(pod.uid());  // Open MPI fences without data
  ask(pod, kind + " of " + pod.uid(), Collective{0, kind, procs, part},
      [this, kind, part, uid = pod.uid(), done = std::move(done)](const Reply& reply) {
        const bool well = reply.status == kPmixSuccess;
        // A lead that had dropped this pod, and was lost before anybody heard so, has answered the others.
        const bool without_it = world_.unreachable.contains(uid) || world_.program->has_lost_a_rank(uid);
        if (const std::size_t parts = count(reply.blob, part);
            well && !part.empty() && parts != 1 && !(parts == 0 && without_it))
          world_.violate(kind + " of " + uid + " has " + std::to_string(parts) + " parts of its own");
        done(well);
      });
}

void Traffic::meet(const std::vector<SimulatedPod*>& pods, SimulatedPod& root, const std::string& port,
                   const RankRuns& procs, const std::function<void(SimulatedPod&, bool well)>& done) {
  const std::string key = port + "root";
  const ProcId owner = *root.ranks().begin();
  for (SimulatedPod* pod : pods) {
    const auto connect = [this, pod, procs, &root, key, owner, done](bool found) {
      if (!found) return done(*pod, false);
      collective(*pod, "connect", procs, [this, pod, &root, key, owner, done](bool well) {
        if (pod == &root) ask(root, "unpublish of " + key, Unpublish{0, {key}, owner}, [](const Reply&) {});
        done(*pod, well);
      });
    };
    if (pod == &root)
      ask(root, "publish of " + key, Publish{0, {{key, owner, "address"}}},
          [connect](const Reply& reply) { connect(reply.status == kPmixSuccess); });
    else
      ask(*pod, "lookup of " + key + " by " + pod->uid(), Lookup{0, {key}, true, 0},
          [this, connect, key](const Reply& reply) {
            const bool well = reply.status == kPmixSuccess;
            if (well && (reply.found.size() != 1 || reply.found[0].value != "address"))
              world_.violate("lookup of " + key + " finds something else");
            connect(well);
          });
  }
}

// --- What ranks do besides.

void Traffic::chat(const std::vector<SimulatedPod*>& members, const std::vector<ProcId>& ranks) {
  const auto one_of = [&](const auto& list) -> const auto& {
    return list[static_cast<std::size_t>(world_.dice.below(static_cast<int>(list.size())))];
  };
  if (members.empty() || ranks.empty()) return;
  switch (world_.dice.below(4)) {
    case 0:
      return fence_members(members, ranks);
    case 1:
      return exchange(*one_of(members), *one_of(members));
    case 2:
      return ask_connection_data(*one_of(members), one_of(ranks));
    default:
      return raise(*one_of(members));
  }
}

// Each in its own time: a lead may go in between.
void Traffic::fence_members(const std::vector<SimulatedPod*>& members, const std::vector<ProcId>& ranks) {
  const RankRuns procs(ranks);
  // A pod takes part for those of its ranks that live.
  const auto takes_part = [this, procs](const SimulatedPod& pod) {
    return pod.alive() && !pod.over() && std::ranges::any_of(pod.ranks(), [&](const ProcId& proc) {
             return procs.contains(proc) && world_.program->is_alive(proc);
           });
  };
  for (SimulatedPod* pod : members)
    world_.events.after(world_.dice.delay(0, 800), [this, pod, procs, takes_part] {
      if (takes_part(*pod)) collective(*pod, "fence", procs, [](bool) {});
    });
}

void Traffic::exchange(SimulatedPod& from, SimulatedPod& to) {
  const std::string key = "key-" + std::to_string(next_key_++);
  const ProcId owner = *from.ranks().begin();
  const auto take_back = [this, &from, key, owner] {
    ask(from, "unpublish of " + key, Unpublish{0, {key}, owner}, [](const Reply&) {});
  };
  ask(to, "lookup of " + key + " by " + to.uid(), Lookup{0, {key}, true, world_.dice.between(1, 10)},
      [this, take_back, key](const Reply& reply) {
        if (reply.status == kPmixSuccess && (reply.found.size() != 1 || reply.found[0].value != key))
          world_.violate("lookup of " + key + " finds something else");
        if (reply.status == kPmixSuccess) take_back();
      });
  ask(from, "publish of " + key, Publish{0, {{key, owner, key}}}, [](const Reply&) {});
}

void Traffic::ask_connection_data(SimulatedPod& from, const ProcId& of) {
  const std::string what = "connection data of " + name_of(of) + " for " + from.uid();
  from.act([this, number = open(from, what), what, of](Pod& agent) {
    agent.connection_data(of, [this, number, what, of](int status, const std::string& bytes) {
      if (close(number, what) && status == kPmixSuccess && bytes != data_of(of))
        world_.violate(what + " is " + bytes);
    });
  });
}

void Traffic::raise(SimulatedPod& from) {
  const std::string number = std::to_string(next_event_++);
  from.act([source = *from.ranks().begin(), number](Pod& agent) {
    agent.rank_raised({kEventCode, source, 1, number});
  });
}

// --- What pods ask.

// Once the rank has put it; one that ends before never will.
void Traffic::give_connection_data(SimulatedPod& pod, const ProcId& proc, const PodEdges::Blob& reply) {
  world_.events.after(world_.dice.delay(0, 20), [this, &pod, proc, reply] {
    const Program& program = *world_.program;
    if (!program.is_alive(proc)) return pod.post([reply] { reply(kPmixNotFound, ""); });
    if (program.is_connected(proc)) return pod.post([reply, proc] { reply(kPmixSuccess, data_of(proc)); });
    give_connection_data(pod, proc, reply);
  });
}

void Traffic::hears(SimulatedPod& pod, const RankEvent& event) {
  if (event.code != kEventCode) world_.violate("an event of another code");
  if (!heard_[pod.uid()].insert(std::stoull(event.packed)).second)
    world_.violate("event " + event.packed + " comes twice to " + pod.uid());
}

std::vector<std::string> Traffic::unanswered() const {
  std::vector<std::string> words;
  for (const auto& [number, request] : open_)
    if (const SimulatedPod* pod = world_.find(request.pod); pod && pod->alive() && !pod->over())
      words.push_back(request.what);
  return words;
}

}  // namespace empi::agent::histories

// SPDX-License-Identifier: Apache-2.0
// ./dev bench simulate [SET...]: the figures of traces in $EMPI_DATA/swf-traces. Sets: kth (default), mixes,
// lublin, lanl, classes, liars, deadlines, online, full; `all` takes minutes.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "operator/decide/queue/demand.hpp"
#include "operator/simulate/full/full_run.hpp"
#include "operator/simulate/metrics.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using namespace emj::simulate;
namespace queue = emj::queue;

void say(const std::string& figure, double value, const char* unit) {
  std::printf("bench simulate.%s %.6g %s\n", figure.c_str(), value, unit);
  std::fflush(stdout);
}

Trace load(const std::string& name) {
  const char* folder = std::getenv(empi::names::kData);
  auto trace = read_trace(std::string(folder ? folder : "data") + "/swf-traces/" + name + ".swf.xz");
  if (trace) return std::move(trace.value());
  std::fprintf(stderr, "bench simulate: %s; EMPI_DATA names the folder with swf-traces\n",
               trace.error().message.c_str());
  std::exit(2);
}

Trace kth() { return load("KTH-SP2-1996-2.1-cln"); }

Workload made(const Trace& trace, const WorkloadOptions& options) {
  return make_workload(trace, trace.processors, options);
}

// What choosing the size at the start alone gives, which stays then.
double moldable_turnaround(const Workload& workload) {
  ElasticOptions options;
  options.moldable = true;
  return summarise(workload, run_elastic(workload, options)).mean_turnaround;
}

void kth_figures() {
  const Trace trace = kth();
  const Workload workload = made(trace, {});
  const Summary easy = summarise(workload, run_easy(workload));
  say("kth.easy.turnaround", easy.mean_turnaround, "s");
  say("kth.easy.proc_hours", easy.processor_hours, "h");
  ElasticOptions options;
  const auto begin = std::chrono::steady_clock::now();
  const ScheduleRun run = run_elastic(workload, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Summary ours = summarise(workload, run);
  say("kth.turnaround", ours.mean_turnaround, "s");
  say("kth.proc_hours", ours.processor_hours, "h");
  say("kth.wait", ours.mean_wait, "s");
  say("changes_per_job", ours.changes_per_job, "1");
  say("longest_wait_ratio", ours.longest_wait / easy.longest_wait, "1");
  say("start_error", ours.expected_start_error, "1");
  say("kth.seconds", seconds, "s");
  say("kth.pass", seconds / static_cast<double>(run.passes) * 1e6, "us");
  say("kth.moldable.turnaround", moldable_turnaround(workload), "s");
  const Workload floored = made(trace, {.floor_percent = 50});
  say("kth.floor50.turnaround", summarise(floored, run_elastic(floored, options)).mean_turnaround, "s");
}

void kth_mixes() {
  const Trace trace = kth();
  for (const int percent : {50, 20}) {
    double turnaround = 0, moldable = 0, late = 0;
    for (int seed = 1; seed <= 10; ++seed) {
      const Workload workload =
          made(trace, {.malleable_percent = double(percent), .seed = std::uint64_t(seed)});
      const ScheduleRun run = run_elastic(workload, {});
      turnaround += summarise(workload, run).mean_turnaround / 10;
      moldable += moldable_turnaround(workload) / 10;
      late += late_share(workload, run, run_easy(workload), JobClass::Rigid) / 10;
    }
    say("kth." + std::to_string(percent) + ".turnaround", turnaround, "s");
    say("kth." + std::to_string(percent) + ".moldable.turnaround", moldable, "s");
    say("kth." + std::to_string(percent) + ".late_share", late, "1");
  }
}

// Users of a tenth of the jobs say a minute of each: what that gains them, and costs the others.
void liars() {
  const Trace trace = kth();
  const auto mean = [](const Workload& lying, const ScheduleRun& run, bool lies) {
    double sum = 0;
    int jobs = 0;
    for (std::size_t i = 0; i < lying.jobs.size(); ++i) {
      if (lying.jobs[i].lies != lies) continue;
      sum += emj::seconds_between(lying.jobs[i].submit, run.jobs[i].end);
      ++jobs;
    }
    return sum / jobs;
  };
  constexpr int kSeeds = 5;
  double honest[2] = {}, lying[2] = {};
  for (int seed = 1; seed <= kSeeds; ++seed) {
    WorkloadOptions options{.malleable_percent = 20, .seed = std::uint64_t(seed)};
    const ScheduleRun without = run_elastic(made(trace, options), {});
    options.liars_percent = 10;
    const Workload workload = made(trace, options);
    for (const bool believes : {false, true}) {
      ElasticOptions run;
      run.believes = believes;
      const ScheduleRun with = run_elastic(workload, run);
      honest[believes] += mean(workload, with, false) / mean(workload, without, false) / kSeeds;
      lying[believes] += mean(workload, with, true) / mean(workload, without, true) / kSeeds;
    }
  }
  say("kth.liars", honest[0], "1");
  say("kth.liars.own", lying[0], "1");
  say("kth.liars.believed", honest[1], "1");
  say("kth.liars.own_believed", lying[1], "1");
}

// Every job should be over within one and a half times the run time at its request.
void deadlines() {
  const Workload workload = made(kth(), {.deadline_factor = 1.5});
  const ScheduleRun easy = run_easy(workload);
  const ScheduleRun ours = run_elastic(workload, {});
  const double met = deadlines_met(workload, ours), easys = deadlines_met(workload, easy);
  say("kth.deadline_met", met / easys, "1");
  say("kth.deadline_share", met, "1");
  say("kth.deadline_share.easy", easys, "1");
  say("kth.deadline_share.without", deadlines_met(workload, run_elastic(made(kth(), {}), {})), "1");
  say("kth.deadline.proc_hours", summarise(workload, ours).processor_hours, "h");
}

// Programs whose efficiency at the request is 60 to 100 %, of which the queue knows what it has measured,
// with 10 % noise, against all of it.
void online() {
  constexpr int kSeeds = 3;
  const Trace trace = kth();
  double exact = 0, learned = 0, never = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const Workload workload = made(trace, {.seed = std::uint64_t(seed), .spread_percent = 20});
    const auto mean = [&](Learn learn) {
      ElasticOptions options;
      options.learn = learn;
      options.seed = std::uint64_t(seed);
      return summarise(workload, run_elastic(workload, options)).mean_turnaround / kSeeds;
    };
    exact += mean(Learn::Oracle);
    learned += mean(Learn::Online);
    never += mean(Learn::Never);
  }
  say("kth.online_ratio", learned / exact, "1");
  say("kth.never_ratio", never / exact, "1");
  say("kth.spread.turnaround", exact, "s");
}

// With every job's own decide(), and the operator's scheduler.
void full() {
  const Trace trace = kth();
  const Workload workload = made(trace, {.jobs = 2000});
  FullOptions options;
  options.queue.pools.emplace_back().name = "machine";
  options.queue.pools[0].quota.cpu = emj::Quantity{std::to_string(workload.processors)};
  const auto begin = std::chrono::steady_clock::now();
  const ScheduleRun run = run_full(workload, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Summary ours = summarise(workload, run);
  const Summary plain = summarise(workload, run_elastic(workload, {}));
  say("full.seconds", seconds, "s");
  say("full.pass", seconds / static_cast<double>(run.passes) * 1e6, "us");
  say("full.turnaround", ours.mean_turnaround, "s");
  say("full.turnaround_ratio", ours.mean_turnaround / plain.mean_turnaround, "1");
  say("full.changes_per_job", ours.changes_per_job, "1");
  options.learn = Learn::Online;
  say("full.online_ratio",
      summarise(workload, run_full(workload, options)).mean_turnaround / ours.mean_turnaround, "1");
}

void one_trace(const std::string& name, const Trace& trace, int jobs) {
  const Workload workload = made(trace, {.jobs = jobs});
  const Summary easy = summarise(workload, run_easy(workload));
  const Summary ours = summarise(workload, run_elastic(workload, {}));
  say(name + ".easy.turnaround", easy.mean_turnaround, "s");
  say(name + ".easy.proc_hours", easy.processor_hours, "h");
  say(name + ".turnaround", ours.mean_turnaround, "s");
  say(name + ".proc_hours", ours.processor_hours, "h");
  say(name + ".moldable.turnaround", moldable_turnaround(workload), "s");
}

Trace lublin() { return load("lublin_256"); }
Trace lanl() { return load("LANL-CM5-1994-4.1-cln"); }

// Nobody is worse off for others being malleable.
void classes(int seeds) {
  double turnaround = 0, slowdown = 0;
  const auto compare = [&](const Trace& trace, int jobs) {
    for (const double percent : {20.0, 50.0}) {
      double worst[2] = {}, mean[2] = {};
      for (int seed = 1; seed <= seeds; ++seed) {
        const Workload workload =
            made(trace, {.malleable_percent = percent, .seed = std::uint64_t(seed), .jobs = jobs});
        const ScheduleRun easy = run_easy(workload);
        const ScheduleRun ours = run_elastic(workload, {});
        for (const JobClass which : {JobClass::Rigid, JobClass::Malleable}) {
          const Summary before = summarise(workload, easy, which);
          const Summary after = summarise(workload, ours, which);
          turnaround = std::max(turnaround, after.mean_turnaround / before.mean_turnaround);
          const double ratio = after.bounded_slowdown / before.bounded_slowdown;
          worst[which == JobClass::Rigid] = std::max(worst[which == JobClass::Rigid], ratio);
          mean[which == JobClass::Rigid] += ratio / seeds;
          slowdown = std::max(slowdown, ratio);
        }
      }
      std::fprintf(stderr,
                   "bench simulate: %s, %g %% malleable: slowdown over EASY's, rigid %.3f (worst %.3f), "
                   "malleable %.3f (worst %.3f)\n",
                   trace.name.c_str(), percent, mean[1], worst[1], mean[0], worst[0]);
    }
  };
  compare(kth(), 0);
  compare(lublin(), 0);
  compare(lanl(), 20000);
  say("class_worst", turnaround, "1");
  say("class_worst_slowdown", slowdown, "1");
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string> known = {"kth",   "mixes",     "lublin", "lanl", "classes",
                                       "liars", "deadlines", "online", "full", "all"};
  std::set<std::string> sets(argv + 1, argv + argc);
  for (const std::string& set : sets) {
    if (known.contains(set)) continue;
    std::fprintf(stderr,
                 "bench simulate: unknown set '%s'; there are kth, mixes, lublin, lanl, classes, liars, "
                 "deadlines, online, full, all\n",
                 set.c_str());
    return 2;
  }
  if (sets.empty()) sets = {"kth"};
  const auto wanted = [&](const char* set) { return sets.contains(set) || sets.contains("all"); };
  if (wanted("kth")) kth_figures();
  if (wanted("mixes")) kth_mixes();
  if (wanted("lublin")) one_trace("lublin", lublin(), 0);
  if (wanted("lanl")) one_trace("lanl", lanl(), 20000);
  if (wanted("classes")) classes(10);
  if (wanted("liars")) liars();
  if (wanted("deadlines")) deadlines();
  if (wanted("online")) online();
  if (wanted("full")) full();
  return 0;
}

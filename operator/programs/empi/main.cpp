// SPDX-License-Identifier: Apache-2.0
// empi: runs elastic MPI jobs on this machine and looks after them.

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "operator/local/isolation.hpp"
#include "operator/local/pod_holder.hpp"
#include "operator/programs/empi/commands.hpp"
#include "operator/programs/empi/completion.hpp"
#include "operator/programs/empi/run.hpp"
#include "operator/programs/empi/simulate.hpp"
#include "runtime/base/options.hpp"

namespace {

using namespace emj;

constexpr char kFooter[] = R"(Examples:
  empi run jacobi.yaml                 run a job until its end, output in ./jacobi-out
  empi run a.yaml b.yaml c.yaml        several, side by side
  empi submit d.yaml                   from another terminal: one more
  empi scale jacobi 8                  from another terminal: 8 workers, while it runs
  empi top                             all local jobs
  empi COMMAND --help                  more examples)";

constexpr char kRunFooter[] = R"(Examples:
  empi run tsunami.yaml --out results
  empi run tsunami.yaml --set worker.maxReplicas=8 --set autoscaling.mode=Recommend
  empi run jacobi.yaml -- --pace 20            arguments after -- are appended to the program's
  empi run a.yaml b.yaml --stagger 5 --out results    b 5 s after a; output in results/a and results/b
  empi run a.yaml b.yaml c.yaml --workers 4    they share 4 CPUs: who finds no room waits, or others shrink

Editing a manifest while its job runs takes effect for the fields that may change.
Ctrl-C ends all jobs cleanly; a second one kills them.
Exit code: 0 all succeeded; else of the first that did not: its program's own, or 1 (failed or cancelled);
2 bad manifest or arguments: nothing was started then.

Results in the output folder: summary.json, profile.csv, <pod>.log, and what the program leaves there
(it finds the folder in EMPI_OUTPUT_DIR). State for other terminals: $EMPI_STATE_DIR, else
$XDG_STATE_HOME/elastic-mpi, else ~/.local/state/elastic-mpi.)";

constexpr char kSimulateFooter[] = R"(Examples:
  empi simulate KTH-SP2-1996-2.1-cln.swf.xz
  empi simulate trace.swf --malleable 50 --seed 3 --out kth

The trace is in the Standard Workload Format, plain or compressed by xz. Jobs of several processors are given curves
(80 % parallel efficiency at the size they asked for); those that are malleable are drawn by --seed. The table compares
with textbook EASY and with jobs that choose their size when they start (moldable). Files in the output folder:
summary.json, jobs.csv, timeline.csv, decisions.log, schedule.swf.
Exit code: 0; 1 files could not be written; 2 bad trace or arguments.)";

struct Arguments {
  cli::RunOptions run;
  cli::SimulateOptions simulate;
  std::string command, manifest, job, shell;
  int replicas = 0;
  bool once = false, events = false;
};

empi::options::OptionList simulate_options(cli::SimulateOptions& s) {
  using namespace empi::options;
  return {
      {"trace", &s.trace, "file in the Standard Workload Format, plain or .xz", {.required = true}},
      {"--malleable", &s.malleable, "per cent of the jobs (default: 100)", {.check = number_between(0, 100)}},
      {"--seed", &s.seed, "which of them are malleable (default: 1)"},
      {"-o,--out", &s.output, "output folder (default: only the table)"},
      {"--workers",
       &s.workers,
       "processors of the machine (default: as the trace says)",
       {.check = in_range(1, 1000000)}},
      {"--jobs", &s.jobs, "only the first so many jobs", {.check = in_range(1, 100000000)}},
      {"--floor",
       &s.floor,
       "no job gets less than this per cent of its request",
       {.check = number_between(0, 100)}},
      {"--load",
       &s.load,
       "jobs arrive as many times as fast (default: 1)",
       {.check = number_between(.01, 100)}},
      {"--delay",
       &s.delay,
       "seconds until workers are released or join (default: 5)",
       {.check = number_between(0, 86400)}},
      {"--pause", &s.pause, "seconds lost by a change (default: 5)", {.check = number_between(0, 86400)}},
      {"--objective",
       &s.objective,
       "of growth: fair, throughput, turnaround or makespan (default: fair)",
       {.check = one_of("fair", "throughput", "turnaround", "makespan")}},
      {"--backfill",
       &s.backfill,
       "easy, conservative or none (default: easy)",
       {.check = one_of("easy", "conservative", "none")}},
      {"--max-wait",
       &s.max_wait,
       "seconds after which nobody passes a job (default: no bound)",
       {.check = number_between(0, 1e9)}},
  };
}

std::vector<empi::options::Command> commands(Arguments& a) {
  using namespace empi::options;
  const Option job{"job", &a.job, "its name", {.required = true}};
  return {
      {"run",
       "run jobs on this machine until they end",
       kRunFooter,
       {{"manifest", &a.run.manifests, "files with an ElasticMPIJob each", {.required = true}},
        {"-o,--out", &a.run.output,
         "output folder (default: ./<job>-out); of several jobs: with one for each"},
        {"--workers",
         &a.run.queue.workers,
         "CPUs that the jobs share (default of several: the cores)",
         {.check = in_range(1, 100000)}},
        {"--queue", &a.run.queue.file, "file with the ElasticQueue that they share them by"},
        {"--stagger",
         &a.run.stagger,
         "seconds from the start of one job to the next",
         {.check = number_between(0, 86400)}},
        {"--set",
         &a.run.overrides.fields,
         "FIELD=VALUE instead of what the manifest says; may be repeated",
         {.repeated = true}},
        {"--logs", &a.run.show_logs, "show the ranks' output on a terminal too, not only in <pod>.log"},
        {"-q,--quiet", &a.run.quiet, "do not show the ranks' output"}},
       &a.run.overrides.arguments},
      {"submit",
       "add a job to what `empi run` runs in another terminal",
       "Examples:\n  empi submit b.yaml\n  empi submit b.yaml --out results -- --pace 20",
       {{"manifest", &a.manifest, "file with an ElasticMPIJob", {.required = true}},
        {"-o,--out", &a.run.output, "output folder (default: the run's, or ./<job>-out)"},
        {"--set",
         &a.run.overrides.fields,
         "FIELD=VALUE instead of what the manifest says; may be repeated",
         {.repeated = true}},
        {"--beside", &a.job, "a job of the run (where there are several runs)"}},
       &a.run.overrides.arguments},
      {"queue",
       "show who runs and who waits in the queues of `empi run`, and why",
       "Examples:\n  empi queue\n  empi queue local",
       {{"name", &a.job, "its name (default: all)"}}},
      {"scale",
       "change the number of workers of a running job",
       "Example:\n  empi scale jacobi 8",
       {job, {"replicas", &a.replicas, "workers wanted", {.check = in_range(1, 10000), .required = true}}}},
      {"top",
       "show jobs: state, size, efficiency, last decision",
       "Examples:\n  empi top            all jobs, every second\n  empi top jacobi --once",
       {{"job", &a.job, "its name (default: all)"},
        {"--once", &a.once, "print once instead of every second"}}},
      {"history",
       "show what was decided for a job and why",
       "Examples:\n  empi history jacobi\n  empi history jacobi --events",
       {job, {"--events", &a.events, "print every event of its log instead"}}},
      {"cancel", "end a running job", "Example:\n  empi cancel jacobi", {job}},
      {"resume",
       "let the autoscaler go on after a size was set by hand",
       "Example:\n  empi resume jacobi",
       {job}},
      {"simulate", "try the scheduler of queues on the log of a machine", kSimulateFooter,
       simulate_options(a.simulate)},
      {"completion",
       "print shell completion",
       "Example:\n  source <(empi completion bash)",
       {{"shell", &a.shell, "bash or zsh", {.check = one_of("bash", "zsh"), .required = true}}}},
  };
}

int dispatch(const Arguments& a, const std::vector<std::string>& arguments) {
  if (a.command == "run") return cli::run_supervisor(a.run, arguments);
  if (a.command == "submit") return cli::submit(a.manifest, a.run.overrides, a.run.output, a.job);
  if (a.command == "queue") return cli::queue(a.job);
  if (a.command == "scale") return cli::ask(a.job, {local::Command::Verb::Scale, a.replicas});
  if (a.command == "cancel") return cli::ask(a.job, {local::Command::Verb::Cancel, 0});
  if (a.command == "resume") return cli::ask(a.job, {local::Command::Verb::Resume, 0});
  if (a.command == "top") return cli::top(a.job, a.once);
  if (a.command == "simulate") return cli::simulate(a.simulate);
  if (a.command == "history") return cli::history(a.job, a.events);
  std::fputs(cli::completion_script(a.shell).c_str(), stdout);  // completion: one subcommand is required
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], local::kPodHolderCommand) == 0) return local::hold_pod();
  local::JobNamespaces namespaces;
  const bool inside = local::inside_job(namespaces);
  Arguments parsed;
  empi::options::read_or_exit({.what = "Elastic MPI: jobs that grow and shrink while they run.",
                               .name = "empi",
                               .footer = kFooter,
                               .commands = commands(parsed),
                               .command = &parsed.command},
                              argc, argv);
  try {
    if (inside) return cli::run_jobs(parsed.run, namespaces);
    return dispatch(parsed, {argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi: %s\n", error.what());
    return 1;
  }
}

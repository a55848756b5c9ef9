// SPDX-License-Identifier: Apache-2.0
// empi: runs elastic MPI jobs on this machine and looks after them.

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <string>
#include <vector>

#include "operator/local/isolation.hpp"
#include "operator/local/pod_holder.hpp"
#include "operator/programs/empi/cluster/commands.hpp"
#include "operator/programs/empi/cluster/following.hpp"
#include "operator/programs/empi/cluster/steering.hpp"
#include "operator/programs/empi/commands.hpp"
#include "operator/programs/empi/completion.hpp"
#include "operator/programs/empi/dashboard/command.hpp"
#include "operator/programs/empi/import/command.hpp"
#include "operator/programs/empi/run.hpp"
#include "operator/programs/empi/simulate.hpp"
#include "operator/simulate/trace.hpp"
#include "runtime/base/options.hpp"

namespace {

using namespace emj;

constexpr char kFooter[] = R"(Examples:
  empi run jacobi.yaml                 run a job until its end, output in ./jacobi-out
  empi run a.yaml b.yaml c.yaml        several, side by side
  empi submit d.yaml                   from another terminal: one more
  empi scale jacobi 8                  from another terminal: 8 workers, while it runs
  empi top                             all local jobs
  empi top --cluster                   jobs of a cluster, as kubectl finds it (also: kubectl empi top)
  empi COMMAND --help                  more examples)";

constexpr char kRunFooter[] = R"(Examples:
  empi run tsunami.yaml --out results
  empi run tsunami.yaml --from ck/tsunami/empi-tsunami.000007.h5    goes on from that checkpoint
  empi run tsunami.yaml --set worker.maxReplicas=8 --set autoscaling.mode=Recommend
  empi run jacobi.yaml -- --pace 20            arguments after -- are appended to the program's
  empi run a.yaml b.yaml --stagger 5 --out results    b 5 s after a; output in results/a and results/b
  empi run a.yaml b.yaml c.yaml --workers 4    they share 4 CPUs: who finds no room waits, or others shrink
  empi run jacobi.yaml --cluster               creates it on a cluster, prints what rank 0 prints, ends as it does

Editing a manifest while its job runs takes effect for the fields that may change.
Ctrl-C ends all jobs cleanly; a second one kills them. A job on a cluster goes on.
Exit code: 0 all succeeded; else of the first that did not: its program's own, or 1 (failed or cancelled);
2 bad manifest or arguments: nothing was started then.

Results in the output folder: summary.json, profile.csv, windows.jsonl, <pod>.log, and what the program leaves there
(it finds the folder in EMPI_OUTPUT_DIR). State for other terminals: $EMPI_STATE_DIR, else
$XDG_STATE_HOME/elastic-mpi, else ~/.local/state/elastic-mpi.)";

constexpr char kImportFooter[] = R"(Examples:
  empi import mpijob.yaml >job.yaml
  empi import trainjob.yaml --runtime runtime.yaml | kubectl apply -f -

The job is written to standard output, what changes and why to standard error. What cannot be carried over is refused
with its line. docs/coming-from-mpi-operator.md has the fields.
Exit code: 0; 2 refused.)";

constexpr char kSimulateFooter[] = R"(Examples:
  empi simulate KTH-SP2-1996-2.1-cln.swf.xz
  empi simulate trace.swf --malleable 50 --seed 3 --out kth
  empi simulate trace.swf --queue main.yaml            by the rules of your own queue
  empi simulate trace.swf --learn online --spread 20   programs differ, and the queue finds out how they scale
  empi simulate a.yaml b.yaml@600 --workers 16         two jobs of yours, the second after ten minutes
  empi simulate trace.swf a.yaml@3600                  a job of yours among those of the trace
  empi simulate --replay tsunami-out deadline.yaml     what that policy would have decided on a recorded run

The trace is in the Standard Workload Format, plain or compressed by xz. Jobs of several processors are given curves
(80 % parallel efficiency at the size they asked for); those that are malleable are drawn by --seed. The table compares
with textbook EASY and with jobs that choose their size when they start (moldable). Files in the output folder:
summary.json, jobs.csv, timeline.csv, decisions.log, schedule.swf, and jobs-SCHEDULE.csv of the others.
Exit code: 0; 1 files could not be written; 2 bad trace, manifest or arguments.)";

struct Arguments {
  cli::RunOptions run;
  cli::SimulateOptions simulate;
  cli::ClusterOptions cluster;
  cli::ImportOptions imported;
  std::string command, manifest, job, shell;
  int replicas = 0, port = cli::dashboard::kDefaultPort;
  bool once = false, events = false, follow = false;
};

empi::options::OptionList simulate_options(cli::SimulateOptions& s) {
  using namespace empi::options;
  return {
      {"files",
       &s.files,
       "a trace in the Standard Workload Format, plain or .xz, manifests of jobs (FILE.yaml, or "
       "FILE.yaml@SECONDS: "
       "when it comes), or both; with --replay one manifest",
       {.required = true}},
      {"--replay", &s.replay, "output folder of a run: what the manifest's policy would have decided on it"},
      {"--malleable", &s.malleable, "per cent of the jobs (default: 100)", {.check = number_between(0, 100)}},
      {"--seed", &s.seed, "which of them are malleable (default: 1)"},
      {"-o,--out", &s.output, "output folder (default: only the table)"},
      {"--queue", &s.queue, "ElasticQueue whose rules, and whose pool's size, it is to be scheduled by"},
      {"--workers",
       &s.workers,
       "processors of the machine (default: the queue's quota, else as the trace says)",
       {.check = in_range(1, simulate::kMostProcessors)}},
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
       "of growth: fair, throughput, turnaround or makespan (default: the queue's, else fair)",
       {.check = one_of("fair", "throughput", "turnaround", "makespan")}},
      {"--backfill",
       &s.backfill,
       "easy, conservative or none (default: the queue's, else easy)",
       {.check = one_of("easy", "conservative", "none")}},
      {"--max-wait",
       &s.max_wait,
       "seconds after which nobody passes a job; 0: no bound (default: the queue's, else 0)",
       {.check = number_between(0, 1e9)}},
      {"--deadline",
       &s.deadline,
       "each job should be over so many times its run time after it came (default: none)",
       {.check = number_between(0, 1e6)}},
      {"--price", &s.price, "of a processor for an hour, in any unit", {.check = number_between(0, 1e9)}},
      {"--policy",
       &s.policies,
       "what is compared with EASY: elastic, moldable, conservative, fcfs; several times for several "
       "(default: moldable, "
       "elastic)",
       {.repeated = true}},
      {"--full", &s.full,
       "with each job's own decide() and policy, and the operator's scheduler: a second for some twenty "
       "jobs"},
      {"--speedup", &s.speedup,
       "how jobs of the trace scale: amdahl:EFFICIENCY at the request (default: amdahl:.8), "
       "downey:PARALLELISM,VARIANCE, or FILE.csv with the columns workers,speed"},
      {"--spread",
       &s.spread,
       "efficiencies of programs differ by so many per cent either way (default: 0)",
       {.check = number_between(0, 100)}},
      {"--learn",
       &s.learn,
       "what the queue knows of how jobs scale: all (oracle, the default), what they measure (online), "
       "nothing (never)",
       {.check = one_of("oracle", "online", "never")}},
      {"--noise",
       &s.noise,
       "with --learn online: per cent by which the windows that are measured are wrong at most (default: 10)",
       {.check = number_between(0, 90)}},
  };
}

// An option list and those that choose a cluster.
empi::options::OptionList with(empi::options::OptionList list, const empi::options::OptionList& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

std::vector<empi::options::Command> commands(Arguments& a) {
  using namespace empi::options;
  const Option job{"job", &a.job, "its name", {.required = true}};
  return {
      {"run", "run jobs until they end, on this machine, or one on a cluster", kRunFooter,
       with(
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
            {"--from", &a.run.from,
             "checkpoint (a file) that the program goes on from, instead of its newest"},
            {"--set",
             &a.run.overrides.fields,
             "FIELD=VALUE instead of what the manifest says; may be repeated",
             {.repeated = true}},
            {"--logs", &a.run.show_logs, "show the ranks' output on a terminal too, not only in <pod>.log"},
            {"-q,--quiet", &a.run.quiet, "do not show the ranks' output"},
            {"!--no-tls", &a.run.mutual_tls, "pods speak plain HTTP with a token, to look at what they say"}},
           cli::cluster_options(a.cluster)),
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
      {"queue", "show who runs and who waits in the queues of `empi run` or of a cluster, and why",
       "Examples:\n  empi queue\n  empi queue local\n  kubectl empi queue -A",
       with({{"name", &a.job, "its name (default: all)"}}, cli::cluster_options_of_all(a.cluster))},
      {"scale", "change the number of workers of a running job",
       "Examples:\n  empi scale jacobi 8\n  kubectl empi scale jacobi 8",
       with({job,
             {"replicas", &a.replicas, "workers wanted", {.check = in_range(1, 10000), .required = true}}},
            cli::cluster_options(a.cluster))},
      {"top", "show jobs: state, size, efficiency, last decision",
       "Examples:\n  empi top            all jobs, every second\n  empi top jacobi --once\n"
       "  kubectl empi top -A   all jobs of a cluster, with their sizes over time",
       with({{"job", &a.job, "its name (default: all)"},
             {"--once", &a.once, "print once instead of every second"}},
            cli::cluster_options_of_all(a.cluster))},
      {"history", "show what was decided for a job and why",
       "Examples:\n  empi history jacobi\n  empi history jacobi --events",
       with({job, {"--events", &a.events, "print every event of its log instead"}},
            cli::cluster_options(a.cluster))},
      {"why", "say why a job has its size: decisions, what is waited for, the model",
       "Examples:\n  empi why jacobi\n  kubectl empi why jacobi -n team",
       with({job}, cli::cluster_options(a.cluster))},
      {"logs", "print what rank 0 prints, in whichever pod it is",
       "Examples:\n  kubectl empi logs jacobi\n  kubectl empi logs -f jacobi    until the job ends, from pod "
       "to pod\n"
       "Local jobs have their logs in their output folder.",
       with({job, {"-f,--follow", &a.follow, "go on until the job ends"}}, cli::cluster_options(a.cluster))},
      {"cancel", "end a running job", "Example:\n  empi cancel jacobi",
       with({job}, cli::cluster_options(a.cluster))},
      {"resume", "let the autoscaler go on after a size was set by hand", "Example:\n  empi resume jacobi",
       with({job}, cli::cluster_options(a.cluster))},
      {"dashboard", "show jobs on a page in the browser, on this machine only",
       "Examples:\n  empi dashboard\n  empi dashboard --context prod -n team\n"
       "It prints the address to open, which holds a key, and serves until Ctrl-C.",
       with({{"--port",
              &a.port,
              "port at 127.0.0.1, 0 for any free one",
              {.check = in_range(0, 65535), .shows_default = true}}},
            cli::cluster_options_of_all(a.cluster))},
      {"simulate", "try the scheduler of queues on the log of a machine", kSimulateFooter,
       simulate_options(a.simulate)},
      {"import",
       "write a job of another operator (MPIJob, TrainJob) as an ElasticMPIJob",
       kImportFooter,
       {{"file",
         &a.imported.file,
         "manifest with one MPIJob (kubeflow.org/v2beta1) or TrainJob",
         {.required = true}},
        {"--runtime", &a.imported.runtime, "file with the runtime that a TrainJob refers to"}}},
      {"completion",
       "print shell completion",
       "Example:\n  source <(empi completion bash)",
       {{"shell",
         &a.shell,
         "bash, zsh or fish",
         {.check = one_of("bash", "zsh", "fish"), .required = true}}}},
  };
}

empi::options::Program program(Arguments& a, bool plugin) {
  return {.what = "Elastic MPI: jobs that grow and shrink while they run.",
          .name = plugin ? "kubectl empi" : "empi",
          .footer = kFooter,
          .commands = commands(a),
          .command = &a.command};
}

// For completion: quickly, and nothing where they cannot be had.
std::vector<std::string> names_of_jobs(const cli::GivenOptions& given, bool plugin) {
  const auto value = [&](const char* name) { return given.contains(name) ? given.at(name) : std::string(); };
  const cli::ClusterOptions options{.cluster = given.contains("cluster"),
                                    .kubeconfig = value("kubeconfig"),
                                    .context = value("context"),
                                    .namespace_name = value("namespace")};
  if (!plugin && !options.given()) return local::known_jobs();
  std::vector<std::string> names;
  try {
    cli::ClusterAccess access(options, Millis(2000));
    for (const ElasticMPIJob& job : access.jobs()) names.push_back(job.metadata.name);
  } catch (const cli::Refusal&) {
    names.clear();
  }
  return names;
}

int complete(const std::vector<std::string>& words, bool plugin) {
  Arguments unused;
  const auto candidates =
      cli::candidates(program(unused, plugin), words,
                      [plugin](const cli::GivenOptions& given) { return names_of_jobs(given, plugin); });
  std::fputs(cli::candidates_text(candidates).c_str(), stdout);
  return 0;
}

bool is_about_jobs(const std::string& command) {
  return command != "simulate" && command != "import" && command != "completion";
}

int run_on_cluster(cli::ClusterAccess& access, const Arguments& a, const cli::cluster::Note& note) {
  if (!a.run.output.empty())
    throw cli::Refusal(
        "--out is for local jobs: on a cluster results go to the job's volumes (docs/operate.md)");
  if (!a.run.from.empty())
    throw cli::Refusal(
        "--from is for local jobs: on a cluster the program goes on from the newest in spec.checkpoint");
  const bool local = a.run.queue.workers > 0 || !a.run.queue.file.empty() || a.run.stagger > 0;
  if (a.run.manifests.size() != 1 || local)
    throw cli::Refusal(
        "several manifests, --workers, --queue and --stagger are for local jobs: on a cluster run one at a "
        "time");
  cli::cluster::RunOnCluster options{
      .manifest = a.run.manifests.front(), .overrides = a.run.overrides, .quiet = a.run.quiet};
  return cli::cluster::run(access, options, !a.cluster.namespace_name.empty(), std::cout, note);
}

int on_cluster(cli::ClusterAccess& access, const Arguments& a) {
  using namespace cli::cluster;
  std::mutex writing;
  const Note note = [&](const std::string& line) {
    const std::lock_guard lock(writing);
    std::fprintf(stderr, "empi: %s\n", cli::printable(line).c_str());
  };
  const bool live = isatty(STDOUT_FILENO) == 1 && !a.once;
  if (a.command == "run") return run_on_cluster(access, a, note);
  if (a.command == "submit")
    throw cli::Refusal("submit is for local jobs (empi run); on a cluster: kubectl apply -f " + a.manifest);
  if (a.command == "queue") queue(access, a.job, a.cluster.all_namespaces, std::cout);
  if (a.command == "top") top(access, a.job, a.cluster.all_namespaces, live, std::cout);
  if (a.command == "dashboard") return cli::dashboard::show_cluster(a.port, access, a.cluster);
  if (a.command == "history") history(access, a.job, a.events, std::cout);
  if (a.command == "why") why(access, a.job, std::cout);
  if (a.command == "logs") logs(access, a.job, a.follow, std::cout, note);
  if (a.command == "scale") std::puts(scale(access, a.job, a.replicas).c_str());
  if (a.command == "resume") std::puts(resume(access, a.job).c_str());
  if (a.command == "cancel") std::puts(cancel(access, a.job).c_str());
  return 0;
}

void check_from(const cli::RunOptions& run) {
  if (run.from.empty()) return;
  if (run.manifests.size() != 1) throw cli::Refusal("--from is for one job: leave the other manifests out");
  if (access(run.from.c_str(), R_OK) != 0)
    throw cli::Refusal("--from " + run.from + ": " + std::strerror(errno) +
                       "; expected the file of a checkpoint");
}

int dispatch(const Arguments& a, const std::vector<std::string>& arguments) {
  if (a.command == "run") check_from(a.run);
  if (a.command == "run") return cli::run_supervisor(a.run, arguments);
  if (a.command == "submit") return cli::submit(a.manifest, a.run.overrides, a.run.output, a.job);
  if (a.command == "queue") return cli::queue(a.job);
  if (a.command == "scale") return cli::ask(a.job, {local::Command::Verb::Scale, a.replicas});
  if (a.command == "cancel") return cli::ask(a.job, {local::Command::Verb::Cancel, 0});
  if (a.command == "resume") return cli::ask(a.job, {local::Command::Verb::Resume, 0});
  if (a.command == "top") return cli::top(a.job, a.once);
  if (a.command == "dashboard") return cli::dashboard::show_local_jobs(a.port);
  if (a.command == "simulate") return cli::simulate(a.simulate);
  if (a.command == "history") return cli::history(a.job, a.events);
  if (a.command == "import") return cli::import_file(a.imported);
  if (a.command == "why") return cli::why(a.job);
  if (a.command == "logs")
    throw cli::Refusal(
        "the logs of local jobs are in their output folder (empi run --out); of a cluster: --cluster");
  std::fputs(cli::completion_script(a.shell).c_str(), stdout);  // completion: one subcommand is required
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], local::kPodHolderCommand) == 0) return local::hold_pod();
  local::JobNamespaces namespaces;
  const bool inside = local::inside_job(namespaces);
  const bool plugin = argc > 0 && cli::is_kubectl_plugin(argv[0]);
  if (argc > 0 && cli::is_kubectl_completion(argv[0])) return complete({argv + 1, argv + argc}, true);
  if (argc > 1 && std::strcmp(argv[1], cli::kCompleteCommand) == 0)
    return complete({argv + 2, argv + argc}, plugin);
  Arguments parsed;
  empi::options::read_or_exit(program(parsed, plugin), argc, argv);
  try {
    if (inside) return cli::run_jobs(parsed.run, namespaces);
    const bool about_jobs = is_about_jobs(parsed.command);
    if (!about_jobs || !(plugin || parsed.cluster.given())) return dispatch(parsed, {argv + 1, argv + argc});
    cli::ClusterAccess access(parsed.cluster);
    return on_cluster(access, parsed);
  } catch (const cli::Refusal& refusal) {
    std::fprintf(stderr, "empi: %s\n", refusal.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi: %s\n", error.what());
    return 1;
  }
}

// empi: runs elastic MPI jobs on this machine and looks after them.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "operator/cli/commands.hpp"
#include "operator/cli/completion.hpp"
#include "operator/cli/run.hpp"
#include "operator/local/isolation.hpp"
#include "operator/local/pod_holder.hpp"

namespace {

using namespace emj;

constexpr char footer[] = R"(Examples:
  empi run jacobi.yaml                 run a job until its end, output in ./jacobi-out
  empi scale jacobi 8                  from another terminal: 8 workers, while it runs
  empi top                             all local jobs
  empi COMMAND --help                  more examples)";

constexpr char run_footer[] = R"(Examples:
  empi run tsunami.yaml --out results
  empi run tsunami.yaml --set worker.maxReplicas=8 --set autoscaling.mode=Recommend
  empi run jacobi.yaml -- --pace 20            arguments after -- are appended to the program's

Editing the manifest while the job runs takes effect for the fields that may change.
Ctrl-C ends the job cleanly; a second one kills it.
Exit code: 0 succeeded; the program's own where it failed with one, else 1 (failed or cancelled); 2 bad
manifest or arguments.

Results in the output folder: summary.json, profile.csv, <pod>.log, and what the program leaves there
(it finds the folder in EMPI_OUTPUT_DIR). State for other terminals: $EMPI_STATE_DIR, else
$XDG_STATE_HOME/elastic-mpi, else ~/.local/state/elastic-mpi.)";

struct Arguments {
  cli::RunOptions run;
  std::string job, shell;
  int replicas = 0;
  bool once = false, events = false;
};

CLI::App* add(CLI::App& app, const char* name, const char* what, const char* examples) {
  CLI::App* command = app.add_subcommand(name, what);
  command->footer(examples);
  return command;
}

void define(CLI::App& app, Arguments& a) {
  app.require_subcommand(1);
  app.footer(footer);
  CLI::App* run = add(app, "run", "run a job on this machine until it ends", run_footer);
  run->add_option("manifest", a.run.manifest, "file with an ElasticMPIJob")->required();
  run->add_option("-o,--out", a.run.output, "output folder (default: ./<job>-out)");
  run->add_option("--set", a.run.overrides.fields,
                  "FIELD=VALUE instead of what the manifest says; may be repeated")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  run->add_flag("--logs", a.run.show_logs, "show the ranks' output on a terminal too, not only in <pod>.log");
  run->add_flag("-q,--quiet", a.run.quiet, "do not show the ranks' output");
  run->add_option("arguments", a.run.overrides.arguments, "after --: appended to the program's arguments");

  CLI::App* scale =
      add(app, "scale", "change the number of workers of a running job", "Example:\n  empi scale jacobi 8");
  scale->add_option("job", a.job, "its name")->required();
  scale->add_option("replicas", a.replicas, "workers wanted")->required()->check(CLI::Range(1, 10000));

  CLI::App* top = add(app, "top", "show jobs: state, size, efficiency, last decision",
                      "Examples:\n  empi top            all jobs, every second\n  empi top jacobi --once");
  top->add_option("job", a.job, "its name (default: all)");
  top->add_flag("--once", a.once, "print once instead of every second");

  CLI::App* history = add(app, "history", "show what was decided for a job and why",
                          "Examples:\n  empi history jacobi\n  empi history jacobi --events");
  history->add_option("job", a.job, "its name")->required();
  history->add_flag("--events", a.events, "print every event of its log instead");

  add(app, "cancel", "end a running job", "Example:\n  empi cancel jacobi")
      ->add_option("job", a.job, "its name")
      ->required();
  add(app, "resume", "let the autoscaler go on after a size was set by hand",
      "Example:\n  empi resume jacobi")
      ->add_option("job", a.job, "its name")
      ->required();
  add(app, "completion", "print shell completion", "Example:\n  source <(empi completion bash)")
      ->add_option("shell", a.shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
}

int dispatch(const CLI::App& app, const Arguments& a, const std::vector<std::string>& arguments) {
  if (app.got_subcommand("run")) return cli::run_supervisor(a.run, arguments);
  if (app.got_subcommand("scale")) return cli::ask(a.job, {local::Command::Verb::Scale, a.replicas});
  if (app.got_subcommand("cancel")) return cli::ask(a.job, {local::Command::Verb::Cancel, 0});
  if (app.got_subcommand("resume")) return cli::ask(a.job, {local::Command::Verb::Resume, 0});
  if (app.got_subcommand("top")) return cli::top(a.job, a.once);
  if (app.got_subcommand("history")) return cli::history(a.job, a.events);
  std::fputs(cli::completion_script(a.shell).c_str(), stdout);  // completion: one subcommand is required
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], local::pod_holder_command) == 0) return local::hold_pod();
  local::JobNamespaces namespaces;
  const bool inside = local::inside_job(namespaces);
  CLI::App app{"Elastic MPI: jobs that grow and shrink while they run.", "empi"};
  Arguments parsed;
  define(app, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (inside) return cli::run_job(parsed.run, namespaces);
    return dispatch(app, parsed, {argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi: %s\n", error.what());
    return 1;
  }
}

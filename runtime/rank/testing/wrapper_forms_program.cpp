// SPDX-License-Identifier: Apache-2.0
// The wrappers read nothing that MPI does not let them read. Every collective of the generated table is
// called in every form that the standard knows (as root, beside the root, across an intercommunicator, in
// place, with empty blocks, without neighbours, with arguments that MPI refuses), first as PMPI_, then
// wrapped: both must return the same and leave the same bytes, and the wrapper must count what was sent. What
// is not significant on a rank is a null there, then an address whose reading ends the process; arrays end
// where memory ends.
//
// usage: wrapper_forms_program [NAMES...]   the collectives to call; all
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/rank/testing/check.hpp"
#include "runtime/rank/testing/shared_page.hpp"
#include "runtime/rank/testing/wrapper_forms.hpp"
#include "runtime/rank/testing/wrapper_forms_case.hpp"
#include "runtime/rank/testing/wrapper_forms_scene.hpp"

using namespace empi::testing;

namespace {

constexpr unsigned kLongestSeconds = 240;
char now_running[512];                     // the form
const char* volatile now_called = "none";  // of its two calls

// Open MPI 5.0.7 looks at some of what it is going to refuse: a form that ends plain MPI itself is none.
sigjmp_buf back_from_plain_mpi;
volatile sig_atomic_t may_come_back = 0;

void say_where(int signal) {
  if (may_come_back) siglongjmp(back_from_plain_mpi, 1);
  for (const char* text : {"ended in ", const_cast<const char*>(now_running), ": ", now_called, "\n"})
    if (write(2, text, std::strlen(text)) < 0) break;
  _exit(signal == SIGALRM ? 2 : 3);
}

int handled = 0, last_handled = 0;
void remember_error(MPI_Comm*, int* code, ...) {
  ++handled;
  last_handled = *code;
}

struct Outcome {
  int result = MPI_SUCCESS, completed = MPI_SUCCESS, errors = 0, error = MPI_SUCCESS;
  bool operator==(const Outcome&) const = default;
};

// The call and, where it only begins, its end.
Outcome run(const Call& call, int (*function)(const Arguments&), Arguments a) {
  MPI_Request request = MPI_REQUEST_NULL;
  a.request = &request;
  Outcome outcome;
  const int before = handled;
  last_handled = MPI_SUCCESS;
  outcome.result = function(a);
  if (outcome.result == MPI_SUCCESS && call.completion != Completion::Blocking) {
    if (call.completion == Completion::Persistent) CHECK(PMPI_Start(&request) == MPI_SUCCESS);
    outcome.completed = PMPI_Wait(&request, MPI_STATUS_IGNORE);
    if (call.completion == Completion::Persistent) PMPI_Request_free(&request);
  }
  outcome.errors = handled - before;
  outcome.error = last_handled;
  return outcome;
}

[[noreturn]] void differ(const char* what, const Outcome& plain, const Outcome& wrapped) {
  std::fprintf(stderr, "%s: %s (plain: returned %d, %d errors handled; wrapped: %d, %d)\n", now_running, what,
               plain.result, plain.errors, wrapped.result, wrapped.errors);
  std::_Exit(1);
}

int checked = 0;

using Spoil = void (*)(Arguments&, Storage&);

// The same call twice; `spoil`, unless null, makes the arguments what MPI refuses.
Outcome compare(const SharedPage& page, const Call& call, const Scene& scene, const Form& form, Spoil spoil) {
  Case plain(call, scene, form), wrapped(call, scene, form);
  if (spoil) {
    spoil(plain.a, plain.storage);
    spoil(wrapped.a, wrapped.storage);
  }
  now_called = "plain MPI";
  const Outcome expected = run(call, call.plain, plain.a);
  now_called = "the wrapper";
  const std::uint64_t before = page.read().mpi_bytes;
  const Outcome found = run(call, call.wrapped, wrapped.a);
  const std::uint64_t counted = page.read().mpi_bytes - before;
  if (found != expected) differ("not the same result", expected, found);
  if (!wrapped.storage.same_received(plain.storage)) differ("not the same bytes received", expected, found);
  const bool sends = found.result == MPI_SUCCESS && call.completion != Completion::Persistent;
  // What MPI should have refused and did not is of no known size.
  if ((!spoil || !sends) && counted != (sends ? wrapped.sent : 0)) {
    std::fprintf(stderr, "%llu bytes counted, %llu sent\n", static_cast<unsigned long long>(counted),
                 static_cast<unsigned long long>(wrapped.sent));
    differ("not the bytes that were sent", expected, found);
  }
  ++checked;
  return expected;
}

void check_form(const SharedPage& page, const Call& call, const Scene& scene, const Form& form) {
  std::snprintf(now_running, sizeof now_running, "%s on %s, rank %d of group %d%s%s, root %d of group %d, %s",
                call.name, scene.name.c_str(), scene.rank, scene.group, form.in_place ? ", in place" : "",
                form.empty ? ", empty" : "", form.root, form.root_group,
                form.rest == Insignificant::Null ? "nulls" : "forbidden addresses");
  const Outcome plain = compare(page, call, scene, form, nullptr);
  // A form that plain MPI refuses shows nothing: it belongs to what is spoilt.
  if (plain.result != MPI_SUCCESS || plain.completed != MPI_SUCCESS)
    differ("plain MPI refuses it", plain, plain);
}

// Whether Open MPI 5.0.7 itself takes this form; its reasons where not.
bool taken_by_plain_mpi(const Call& call, const Scene& scene, const Form& form) {
  const bool begun = call.completion != Completion::Blocking;
  if (form.rest == Insignificant::Forbidden)  // asks for the size of sendtype
    return !(begun && call.operation == Operation::Alltoall && form.in_place);
  // refuses null displacements of no block at all
  return !(call.operation == Operation::NeighborAllgather && call.counts == Counts::V && scene.some_alone);
}

std::vector<Form> forms_of(const Call& call, const Scene& scene) {
  std::vector<Form> forms;
  const int groups = scene.inter && rooted(call.operation) ? 2 : 1;
  for (const bool in_place : {false, true})
    for (const bool empty : {false, true})
      for (const Insignificant rest : {Insignificant::Null, Insignificant::Forbidden})
        for (int group = 0; group < groups; ++group) {
          if (in_place && (scene.inter || !knows_in_place(call.operation))) continue;
          const int ranks = group == scene.group ? scene.size : scene.peers;
          const int roots = rooted(call.operation) ? ranks : 1;
          for (int root = 0; root < roots; ++root) {
            const Form form{in_place, empty, root, group, rest};
            if (taken_by_plain_mpi(call, scene, form)) forms.push_back(form);
          }
        }
  return forms;
}

bool defined_on(const Call& call, const Scene& scene) {
  if (over_neighbours(call.operation)) return scene.neighbourhood;
  if (call.operation == Operation::Scan || call.operation == Operation::Exscan) return !scene.inter;
  return !scene.neighbourhood;
}

// --- what MPI refuses: alone on a communicator, so that nobody waits for who was refused

struct Spoilt {
  const char* what;
  Spoil spoil;
};

constexpr Spoilt kSpoilt[] = {
    {"no communicator", [](Arguments& a, Storage&) { a.comm = MPI_COMM_NULL; }},
    {"a communicator that is nothing", [](Arguments& a, Storage&) { a.comm = nullptr; }},
    {"null counts", [](Arguments& a, Storage&) { a.sendcounts = a.recvcounts = nullptr; }},
    {"null counts to send", [](Arguments& a, Storage&) { a.sendcounts = nullptr; }},
    {"null counts to receive", [](Arguments& a, Storage&) { a.recvcounts = nullptr; }},
    {"null types", [](Arguments& a, Storage&) { a.sendtypes = a.recvtypes = nullptr; }},
    {"null displacements",
     [](Arguments& a, Storage&) {
       a.sdispls = a.rdispls = nullptr;
       a.sdispls_bytes = a.rdispls_bytes = nullptr;
     }},
    {"no type", [](Arguments& a, Storage&) { a.sendtype = a.recvtype = MPI_DATATYPE_NULL; }},
    {"no type to send", [](Arguments& a, Storage&) { a.sendtype = MPI_DATATYPE_NULL; }},
    {"no type to receive", [](Arguments& a, Storage&) { a.recvtype = MPI_DATATYPE_NULL; }},
    {"types that are none",
     [](Arguments& a, Storage& storage) {
       a.sendtypes = a.recvtypes =
           storage.make(std::vector<MPI_Datatype>{MPI_DATATYPE_NULL, MPI_DATATYPE_NULL});
     }},
    {"negative counts",
     [](Arguments& a, Storage& storage) {
       a.sendcount = a.recvcount = -1;
       a.sendcounts = a.recvcounts = storage.make(std::vector<int>{-1, -1});
     }},
    {"a root beyond the last rank", [](Arguments& a, Storage&) { a.root = 1; }},
    {"a root that is none", [](Arguments& a, Storage&) { a.root = -9; }},
    {"MPI_ROOT within a group", [](Arguments& a, Storage&) { a.root = MPI_ROOT; }},
    {"no operation", [](Arguments& a, Storage&) { a.op = MPI_OP_NULL; }},
};

int ended = 0;

bool ends_plain_mpi(const Call& call, const Scene& scene, Spoil spoil) {
  const Form form;
  Case plain(call, scene, form);
  spoil(plain.a, plain.storage);
  now_called = "plain MPI";
  const bool comes_back = sigsetjmp(back_from_plain_mpi, 1) != 0;
  if (!comes_back) {
    may_come_back = 1;
    run(call, call.plain, plain.a);
  }
  may_come_back = 0;
  return comes_back;
}

void check_refusals(const SharedPage& page, const Call& call, const Scene& scene) {
  if (!defined_on(call, scene)) return;
  for (const Spoilt& spoilt : kSpoilt) {
    std::snprintf(now_running, sizeof now_running, "%s on %s with %s", call.name, scene.name.c_str(),
                  spoilt.what);
    if (ends_plain_mpi(call, scene, spoilt.spoil))
      ++ended;
    else
      compare(page, call, scene, Form{}, spoilt.spoil);
  }
}

void catch_errors(MPI_Comm comm) {
  static MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (handler == MPI_ERRHANDLER_NULL) PMPI_Comm_create_errhandler(remember_error, &handler);
  PMPI_Comm_set_errhandler(comm, handler);
}

}  // namespace

int main(int argc, char** argv) {
  const SharedPage page;
  MPI_Init(&argc, &argv);
  for (const int number : {SIGSEGV, SIGBUS, SIGALRM}) {
    struct sigaction action{};
    action.sa_handler = say_where;
    action.sa_flags = SA_NODEFER;  // comes back by a jump
    sigaction(number, &action, nullptr);
  }
  alarm(kLongestSeconds);
  int rank = 0, size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 4);

  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) catch_errors(comm);

  const std::vector<Scene> scenes = {on("the world", MPI_COMM_WORLD),
                                     between_groups("two ranks and two", 2),
                                     between_groups("one rank and three", 1),
                                     grid("a ring", 1),
                                     grid("a row", 0),
                                     star("a star"),
                                     line("a line", 2)};
  std::vector<Call> chosen;
  for (const Call& call : calls())
    if (argc == 1 || std::find(argv + 1, argv + argc, std::string_view(call.name)) != argv + argc)
      chosen.push_back(call);
  for (const Scene& scene : scenes)
    for (const Call& call : chosen)
      if (defined_on(call, scene))
        for (const Form& form : forms_of(call, scene)) check_form(page, call, scene, form);

  MPI_Comm alone = MPI_COMM_NULL, ring = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_SELF, &alone);
  const int dims[] = {1}, periods[] = {1};
  PMPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &ring);
  Scene neighbours = on("a rank that is its own neighbour", ring);
  neighbours.neighbourhood = true;
  neighbours.sources = neighbours.targets = {0, 0};
  for (const Scene& scene : {on("a rank alone", alone), neighbours})
    for (const Call& call : chosen) check_refusals(page, call, scene);

  CHECK(checked > (argc == 1 ? 1000 : 0));
  if (rank == 0)
    std::printf("%d forms of %zu collectives; %d end plain MPI\n", checked, chosen.size(), ended);
  std::fflush(stdout);
  MPI_Finalize();
}

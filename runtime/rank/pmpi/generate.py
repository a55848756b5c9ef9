#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the PMPI layer from the installed mpi.h: one wrapper for every MPI function, which passes the current
world where the program says MPI_COMM_WORLD, and counts the call.

usage: generate.py --compiler CC --include DIR... --out wrappers.cpp --list wrapped.txt --untranslated notes.md
"""
import argparse
import re
import subprocess

# In other files, with what they need beyond translating and counting.
HAND_WRITTEN = {
    "MPI_Init", "MPI_Init_thread", "MPI_Initialized", "MPI_Finalize", "MPI_Finalized", "MPI_Error_class",  # lifecycle.cpp
    "MPI_Comm_free", "MPI_Comm_disconnect", "MPI_Comm_f2c", "MPI_Type_free",  # handles.cpp
    "MPI_Win_free", "MPI_File_close",
    "MPI_Comm_create_keyval", "MPI_Keyval_create", "MPI_Comm_set_attr", "MPI_Comm_get_attr",  # attributes.cpp
    "MPI_Comm_delete_attr", "MPI_Attr_put", "MPI_Attr_get", "MPI_Attr_delete",
}
# Neither communicator nor communication: the program reaches libmpi directly.
PASSED_THROUGH = {"MPI_Wtime", "MPI_Wtick", "MPI_Pcontrol", "MPI_Aint_add", "MPI_Aint_diff"}

# Removed from the standard, hidden in mpi.h, but exported by libmpi for old binaries.
REMOVED = ["int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)",
           "int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)"]

COLLECTIVES = {
    "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall",
    "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
    "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv",
    "Neighbor_alltoallw"}
COLLECTIVE_OTHERS = re.compile(
    r"MPIX?_(Comm_(dup|dup_with_info|create|create_group|create_from_group|split|split_type|accept|connect|spawn|"
    r"spawn_multiple|agree|shrink)|Intercomm_(create|create_from_groups|merge)|(Cart|Graph|Dist_graph)_create"
    r"(_adjacent)?|Cart_sub|Win_(create|allocate|allocate_shared|create_dynamic|fence)|File_open|"
    r"File_(read|write)\w*(_all|_ordered)(_begin|_end)?|File_(set_size|preallocate|sync|set_view))(_c)?$")
BLOCKING_OTHERS = re.compile(
    r"MPIX?_(Send|Ssend|Rsend|Bsend|Recv|Mrecv|Sendrecv|Sendrecv_replace|Probe|Mprobe|Wait\w*|Buffer_detach|"
    r"Win_(fence|start|complete|post|wait|lock|lock_all|unlock|unlock_all|flush\w*|sync)|File_(read|write)\w*|"
    r"File_\w+|Abort|Comm_join|Parrived)(_c)?$")

# Calls that hand one message to MPI for sending.
P2P_SENDS = {"Send", "Ssend", "Rsend", "Bsend", "Isend", "Issend", "Irsend", "Ibsend", "Sendrecv", "Isendrecv",
             "Sendrecv_replace", "Isendrecv_replace", "Put", "Rput", "Accumulate", "Raccumulate",
             "Get_accumulate", "Rget_accumulate"}

# Communication that involves no more than some of the ranks of a communicator.
NOT_COLLECTIVE = re.compile(r"MPI_(I?(s|ss|rs|bs)end|I?m?recv|I?sendrecv\w*|Start(all)?|R?(put|get)|"
                            r"R?(get_)?accumulate|Fetch_and_op|Compare_and_swap|Comm_create_group)(_c)?$",
                            re.IGNORECASE)

# What Open MPI does not survive without a message to receive (quirk sendrecv-null): only sent then.
SEND_AND_RECEIVE = re.compile(r"MPI_Sendrecv(_replace)?$")

CREATORS = {"MPI_Comm": re.compile(r"MPIX?_(Comm_(dup|dup_with_info|create|create_group|create_from_group|split|"
                                   r"split_type|accept|connect|spawn|spawn_multiple|join|shrink)|Intercomm_\w+|"
                                   r"(Cart|Graph|Dist_graph)_create\w*|Cart_sub)$"),
            "MPI_Win": re.compile(r"MPI_Win_(create|allocate|allocate_shared|create_dynamic)(_c)?$"),
            "MPI_File": re.compile(r"MPI_File_open$")}

# Calls that may make requests null.
ENDERS = re.compile(r"MPI_((Wait|Test)(all|any|some)?|Request_free)$")


class Function:
    """A prototype: result type, name, parameters as (declaration, name)."""

    def __init__(self, result, name, parameters):
        self.result, self.name = result.strip(), name
        self.parameters = [] if parameters.strip() in ("", "void") else [
            (p.strip(), parameter_name(p)) for p in split_parameters(parameters)]
        self.base = re.sub(r"^MPIX?_", "", name)

    def world_parameters(self):
        """Names of the communicators passed by value."""
        return [n for d, n in self.parameters if re.match(r"(const\s+)?MPI_Comm\s+\w+$", d)]

    def out_parameter(self, kind):
        names = [n for d, n in self.parameters if re.match(kind + r"\s*\*\s*\w+$", d)]
        return names[0] if names else None

    def has(self, *names):
        own = {n for _, n in self.parameters}
        return all(n in own for n in names)


def split_parameters(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c == "("
        depth -= c == ")"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def parameter_name(declaration):
    match = re.search(r"(\w+)\s*(\[\w*\]\s*)*$", declaration.strip())
    return match[1] if match else "..."


def prototypes(compiler, includes):
    source = "#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\n"
    text = subprocess.run([compiler, "-x", "c", "-E", "-P", *["-I" + d for d in includes], "-"], input=source,
                          capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"__attribute__ ?\(\((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*\)\)", " ", text)
    found = {}
    for match in re.finditer(r"(?:^|[;}])\s*(?:extern\s+)?((?:\w+\s+)+\**)\s*(P?MPIX?_\w+)\s*\(((?:[^();]|\([^()]*\))*)\)\s*(?=;)",
                             text.replace(";", " ; ; ")):
        if "typedef" not in match[1]:
            found[match[2]] = Function(*match.groups())
    for text in REMOVED:
        match = re.match(r"(\w+) (\w+)\((.*)\)", text)
        found[match[2]] = Function(*match.groups())
        found["P" + match[2]] = found[match[2]]
    return [f for n, f in sorted(found.items()) if not n.startswith("P") and "P" + n in found]


def collective(f):
    """Of COLLECTIVES, blocking or not, the one that this is, on a communicator; None for other calls."""
    base = re.sub(r"_c$", "", f.base)
    name = base if base in COLLECTIVES else base[1:].capitalize() if base.startswith("I") else None
    return name if name in COLLECTIVES and f.world_parameters() else None


def bytes_sent(f):
    """C++ expression for the bytes that this rank hands to MPI for sending, of the call's own parameters; None when the
    call sends nothing or it is not known. It is computed when the call has succeeded, so the handles are valid; what is
    not significant on this rank must not be read even then."""
    base = re.sub(r"_c$", "", f.base)
    if base.endswith("_init"):
        return None  # persistent: sent at each start, of which the library keeps no record
    if base in P2P_SENDS:
        for count, kind in (("sendcount", "sendtype"), ("count", "datatype"), ("origin_count", "origin_datatype")):
            if f.has(count, kind):
                to = "dest" if f.has("dest") else "target_rank"
                nothing = f"{to} == MPI_PROC_NULL" + (" || op == MPI_NO_OP" if f.has("result_addr", "op") else "")
                return f"{nothing} ? 0 : payload({count}, {kind})"
        return None
    name = collective(f)
    if name in (None, "Barrier"):
        return None
    comm = f.world_parameters()[0]
    if name == "Bcast":
        return f"is_root(root, {comm}) ? payload(count, datatype) : 0"
    if name == "Reduce":
        return "beside_root(root) ? 0 : payload(count, datatype)"
    if name in ("Allreduce", "Scan", "Exscan"):
        return "payload(count, datatype)"
    if name == "Reduce_scatter":
        return f"payload(sum(recvcounts, local_size({comm})), datatype)"
    if name == "Reduce_scatter_block":
        return f"payload(recvcount, datatype) * local_size({comm})"
    if name in ("Gather", "Gatherv"):
        return "beside_root(root) || in_place(sendbuf) ? 0 : payload(sendcount, sendtype)"
    if name in ("Neighbor_allgather", "Neighbor_allgatherv"):
        return "payload(sendcount, sendtype)"
    if name == "Allgather":
        return "in_place(sendbuf) ? payload(recvcount, recvtype) : payload(sendcount, sendtype)"
    if name == "Allgatherv":
        return f"in_place(sendbuf) ? payload(recvcounts[own_rank({comm})], recvtype) : payload(sendcount, sendtype)"
    if name == "Scatter":
        return f"is_root(root, {comm}) ? payload(sendcount, sendtype) * peers({comm}) : 0"
    if name == "Scatterv":
        return f"is_root(root, {comm}) ? payload(sum(sendcounts, peers({comm})), sendtype) : 0"
    if name == "Alltoall":
        return (f"(in_place(sendbuf) ? payload(recvcount, recvtype) : payload(sendcount, sendtype)) * "
                f"peers({comm})")
    if name == "Alltoallv":
        return (f"in_place(sendbuf) ? payload(sum(recvcounts, peers({comm})), recvtype) : "
                f"payload(sum(sendcounts, peers({comm})), sendtype)")
    if name == "Alltoallw":
        return (f"in_place(sendbuf) ? payload(recvcounts, recvtypes, peers({comm})) : "
                f"payload(sendcounts, sendtypes, peers({comm}))")
    if name == "Neighbor_alltoall":
        return f"payload(sendcount, sendtype) * out_neighbors({comm})"
    if name == "Neighbor_alltoallv":
        return f"payload(sum(sendcounts, out_neighbors({comm})), sendtype)"
    return f"payload(sendcounts, sendtypes, out_neighbors({comm}))"


def network_use(f, sent):
    """Statement that pays for `sent` bytes on an emulated network; None when the call sends nothing by itself."""
    base = re.sub(r"_c$", "", f.base)
    if base in P2P_SENDS:
        return f"counting().send(1, {sent})" if sent else None
    name = collective(f)
    if name is None:
        return None
    comm = f.world_parameters()[0]
    if name.startswith("Neighbor"):
        return f"counting().send(out_neighbors({comm}), {sent})"
    return f"counting().send_to_all(peers({comm}), {sent or 0})"


def is_collective(f):
    base = re.sub(r"(_c|_init)$", "", f.base)
    return (base in COLLECTIVES or (base.startswith("I") and base[1:].capitalize() in COLLECTIVES)
            or bool(COLLECTIVE_OTHERS.match(f.name)))


def is_blocking(f):
    base = re.sub(r"_c$", "", f.base)
    return base in COLLECTIVES or bool(COLLECTIVE_OTHERS.match(f.name)) or bool(BLOCKING_OTHERS.match(f.name))


def place_in_the_program(f):
    """Statement that notes a call by which the probes of different ranks are told apart; None for others."""
    if NOT_COLLECTIVE.match(f.name):
        return "world_calls.other()"
    if is_collective(f) and f.world_parameters():
        return f"world_calls.collective({f.world_parameters()[0]})"
    return None


def wrapper(f):
    lines = [f"{f.result} {f.name}({', '.join(d for d, _ in f.parameters) or 'void'}) {{"]
    lines += [f"  {n} = actual({n});" for n in f.world_parameters()]
    flag = lambda kind, value: f"{kind}::{'Yes' if value else 'No'}"
    lines.append(f"  const CallScope mpi_call({flag('Blocking', is_blocking(f))}, "
                 f"{flag('Collective', is_collective(f))});")
    after = []
    sent = bytes_sent(f)
    if sent:
        after.append(f"if (mpi_call.outermost()) counting().add_bytes({sent});")
    paid = network_use(f, sent)
    if paid:
        after.append(f"if (counting().network().slows()) [[unlikely]] {{ if (mpi_call.outermost()) {paid}; }}")
    place = place_in_the_program(f)
    if place:
        after.append(f"if (mpi_call.outermost()) {place};")
    for kind, pattern in CREATORS.items():
        if pattern.match(f.name) and f.out_parameter(kind):
            after.append(f"derived().made(*{f.out_parameter(kind)}, \"{f.name}\");")
    if f.world_parameters() and f.out_parameter("MPI_Request"):
        after.append(f"world_requests().made({f.world_parameters()[0]}, *{f.out_parameter('MPI_Request')}, "
                     f"\"{f.name}\");")
    if ENDERS.match(f.name):
        count = next((n for n in ("count", "incount") if f.has(n)), "1")
        requests = next(n for d, n in f.parameters if d.startswith("MPI_Request "))
        lines.append(f"  const WorldRequests::Ending ending({count}, {requests});")
    call = f"P{f.name}({', '.join(n for _, n in f.parameters)})"
    if SEND_AND_RECEIVE.match(f.name):
        message = "buf, count, datatype" if f.has("buf") else "sendbuf, sendcount, sendtype"
        call = f"source == MPI_PROC_NULL ? only_send({message}, dest, sendtag, comm, status) : {call}"
    if not after:
        return "\n".join(lines + [f"  return {call};", "}"])
    # Only now is it known that MPI could read the arguments.
    return "\n".join(lines + [f"  const int outcome = {call};", "  if (outcome != MPI_SUCCESS) return outcome;",
                              *("  " + line for line in after), "  return outcome;", "}"])


def untranslated(functions):
    callbacks = sorted(f.name for f in functions if re.search(
        r"_function\b|_fn\b", " ".join(d for d, _ in f.parameters)))
    late = sorted(f.name for f in functions if re.match(r"MPI_Comm_idup", f.name))
    return f"""# What the PMPI layer does not translate

Written by runtime/rank/pmpi/generate.py from the installed mpi.h.

- Communicators passed to callbacks name the communicator itself, never MPI_COMM_WORLD. Callbacks are given to:
  {', '.join(callbacks)}.
- Objects made from the world (communicators, windows, files, requests) keep the world they were made from.
  Live communicators, windows and files that contain a rank which leaves, and requests on the world itself that are
  pending or persistent, make the commit roll back and are named then; not noticed are the communicators of
  {', '.join(late)} (the handle appears when the request completes), pending requests that were freed,
  requests on other communicators, and what Fortran code or PMPI_ calls make.
- Fortran entry points (mpi_send_ and so on, and the mpi_f08 module) reach libmpi without passing the C functions:
  a program with Fortran parts runs rigid, and says so.
- Bytes of persistent and partitioned operations are not counted (their starts carry no size).
- Passed through uncounted: {', '.join(sorted(PASSED_THROUGH))}.
"""


HEAD = """// Generated by runtime/rank/pmpi/generate.py from mpi.h. Do not edit.
#include "runtime/rank/pmpi/wrap.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace empi::rank;
using namespace empi::profile;

extern "C" {

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--out", required=True)
    parser.add_argument("--list", required=True)
    parser.add_argument("--untranslated", required=True)
    arguments = parser.parse_args()
    functions = prototypes(arguments.compiler, arguments.include)
    if len(functions) < 300:
        raise SystemExit(f"found only {len(functions)} MPI functions in mpi.h, expected some 450: "
                         "its form is not known to this script")
    generated = [f for f in functions if f.name not in HAND_WRITTEN | PASSED_THROUGH]
    with open(arguments.out, "w") as out:
        out.write(HEAD)
        for text in REMOVED:
            out.write("#undef " + re.search(r"MPI_\w+", text)[0] + "\n")
            out.write(re.sub(r"\bMPI_Errhandler_(?=[gs]et)", "PMPI_Errhandler_", text) + ";\n")
            out.write('__attribute__((visibility("default"))) ' + text + ";\n")
        out.write("\n" + "\n\n".join(wrapper(f) for f in generated) + '\n\n}  // extern "C"\n\n')
        # For interposition.cpp; first what a reader knows.
        names = "".join(f'    "{f.name}",\n' for f in sorted(functions, key=lambda f: f.name.startswith("MPIX"))
                        if f.name not in PASSED_THROUGH)
        out.write("namespace empi::rank {\n\nconst char* const kWrappedFunctions[] = {\n" + names +
                  "    nullptr};\n\n}  // namespace empi::rank\n")
    with open(arguments.list, "w") as out:
        out.write("".join(sorted(f.name + "\n" for f in functions if f.name not in PASSED_THROUGH)))
    with open(arguments.untranslated, "w") as out:
        out.write(untranslated(functions))


if __name__ == "__main__":
    main()

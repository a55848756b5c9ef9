// SPDX-License-Identifier: Apache-2.0
// What Open MPI in the ranks is told by its environment, and why: the one home of that. What it works around
// has a name in docs/openmpi.md.
#pragma once
#include <array>

namespace empi::agent {

struct MpiParameter {
  enum class Of { All, OnLoopback, Crowded, WithoutUcx, Malleable };  // the ranks that get it
  enum class Value { AsIs, Interface, ShmFolder };                    // `text`, or what the pod's agent knows

  const char* name;
  Of of;
  Value value;
  const char* text;
  const char* why;
  // Whether the pod's own environment may say otherwise. A world cannot change without those of Malleable.
  bool is_default() const { return of != Of::Malleable; }
};

inline constexpr auto kMpiParameters = std::to_array<MpiParameter>({
    {"OMPI_MCA_pml", MpiParameter::Of::All, MpiParameter::Value::AsIs, "ob1",
     "the one point-to-point layer that survives the loss of a peer"},
    {"OMPI_MCA_btl", MpiParameter::Of::All, MpiParameter::Value::AsIs, "self,tcp,sm",
     "what every pod has, and what notices that a peer is gone"},
    {"OMPI_MCA_btl_tcp_if_include", MpiParameter::Of::All, MpiParameter::Value::Interface, "",
     "the pod's network, and no bridge of the node"},
    {"OMPI_MCA_if_base_retain_loopback", MpiParameter::Of::OnLoopback, MpiParameter::Value::AsIs, "1",
     "pods of one network namespace meet on lo, which Open MPI passes over"},
    {"OMPI_MCA_smsc", MpiParameter::Of::All, MpiParameter::Value::AsIs, "^cma,xpmem,knem",
     "single copy needs rights to ptrace, which a restricted pod lacks"},
    {"UCX_MEM_EVENTS", MpiParameter::Of::WithoutUcx, MpiParameter::Value::AsIs, "n",
     "quirk ucx-hooks: a quarter of a rank's start, for what nobody asks"},
    {"UCX_VFS_ENABLE", MpiParameter::Of::WithoutUcx, MpiParameter::Value::AsIs, "n",
     "quirk ucx-hooks: a thread and a watched folder of each rank, for a daemon that nobody runs"},
    {"OMPI_MCA_btl_sm_backing_directory", MpiParameter::Of::All, MpiParameter::Value::ShmFolder, "",
     "so that the segments of killed ranks go with the pod's folder"},
    {"OMPI_MCA_osc_sm_backing_directory", MpiParameter::Of::All, MpiParameter::Value::ShmFolder, "",
     "so that the segments of killed ranks go with the pod's folder"},
    {"OMPI_MCA_osc_rdma_backing_directory", MpiParameter::Of::All, MpiParameter::Value::ShmFolder, "",
     "so that the segments of killed ranks go with the pod's folder"},
    {"OMPI_MCA_mpi_yield_when_idle", MpiParameter::Of::Crowded, MpiParameter::Value::AsIs, "1",
     "ranks that wait poll; with fewer processors than ranks they must let others run"},
    {"OMPI_MCA_async_mpi_init", MpiParameter::Of::All, MpiParameter::Value::AsIs, "1",
     "with barriers in MPI_Init the start of 80 ranks on two processors never ended (measured)"},
    {"OMPI_MCA_pmix_base_async_modex", MpiParameter::Of::All, MpiParameter::Value::AsIs, "1",
     "as above: addresses are asked for when they are needed"},
    {"OMPI_MCA_pmix_base_collect_data", MpiParameter::Of::All, MpiParameter::Value::AsIs, "0",
     "as above: nobody waits for the addresses of all"},
    {"OMPI_MCA_mpi_ft_enable", MpiParameter::Of::Malleable, MpiParameter::Value::AsIs, "1",
     "without fault tolerance all ranks abort when one goes"},
    {"OMPI_MCA_btl_tcp_flags", MpiParameter::Of::Malleable, MpiParameter::Value::AsIs, "send,inplace",
     "quirk failed-writes: no PUT protocol, whose sender may hang for good when the receiver dies"},
    {"OMPI_MCA_btl_base_warn_peer_error", MpiParameter::Of::Malleable, MpiParameter::Value::AsIs, "0",
     "which rank is gone, and why, is what the agent says"},
    {"OMPI_MCA_async_mpi_finalize", MpiParameter::Of::Malleable, MpiParameter::Value::AsIs, "1",
     "leavers would wait in MPI_Finalize for those that stay"},
    {"OMPI_MCA_coll", MpiParameter::Of::Malleable, MpiParameter::Value::AsIs, "^han,cuda",
     "quirk han, and quirk cuda: their communicators are not revoked with the one that they serve"},
});

// Where ranks write Open MPI's and PMIx's own complaints (names::kMpiMessages), apart from what the program
// prints: a descriptor that no script and no program picks by itself.
inline constexpr int kMpiMessagesFd = 199;

}  // namespace empi::agent

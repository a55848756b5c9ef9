// SPDX-License-Identifier: Apache-2.0
// The attribute calls, and the memory of what was set on the world and on MPI_COMM_SELF.
#include "runtime/rank/attributes.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/rank/pmpi/wrap.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace empi::rank {

namespace {

struct Keyval {
  MPI_Comm_copy_attr_function* copy;
  void* extra_state;
};

class Attributes {
 public:
  void created(int keyval, Keyval functions) {
    const std::lock_guard lock(mutex_);
    keyvals_[keyval] = functions;
  }
  // In the order of setting; setting again counts as new.
  void set(bool on_self, int keyval) {
    const std::lock_guard lock(mutex_);
    std::vector<int>& list = on_self ? self_ : world_;
    std::erase(list, keyval);
    list.push_back(keyval);
  }
  void deleted(bool on_self, int keyval) {
    const std::lock_guard lock(mutex_);
    std::erase(on_self ? self_ : world_, keyval);
  }
  std::vector<int> take(bool on_self) {
    const std::lock_guard lock(mutex_);
    return std::exchange(on_self ? self_ : world_, {});
  }
  Keyval functions(int keyval) {
    const std::lock_guard lock(mutex_);
    const auto found = keyvals_.find(keyval);
    return found == keyvals_.end() ? Keyval{MPI_COMM_NULL_COPY_FN, nullptr} : found->second;
  }

 private:
  std::mutex mutex_;  // callbacks run without it: they may set attributes
  std::map<int, Keyval> keyvals_;
  std::vector<int> world_, self_;
};

Attributes& attributes() {
  static Attributes& instance = *new Attributes;
  return instance;
}

bool is_world(MPI_Comm actual_comm) { return actual_comm == current_world(); }
bool is_predefined(int keyval) { return keyval >= 0 && keyval < MPI_ATTR_PREDEFINED_KEY_MAX; }

int set(MPI_Comm comm, int keyval, void* value) {
  comm = actual(comm);
  const int result = PMPI_Comm_set_attr(comm, keyval, value);
  if (result == MPI_SUCCESS && (is_world(comm) || comm == MPI_COMM_SELF))
    attributes().set(comm == MPI_COMM_SELF, keyval);
  return result;
}

// What the first world was made with leaves room to grow, and the job may have come to need more.
int* universe_size(int* at_first) {
  static std::atomic<int> size{0};  // MPI gives out its address
  static_assert(sizeof size == sizeof(int));
  int now = 0;
  PMPI_Comm_size(current_world(), &now);
  size.store(std::max(*at_first, now));
  return reinterpret_cast<int*>(&size);
}

// Predefined attributes are known to the world of MPI_Init only.
int get(MPI_Comm comm, int keyval, void* value, int* flag) {
  comm = actual(comm);
  const bool of_first_world = is_predefined(keyval) && is_world(comm);
  const int result = PMPI_Comm_get_attr(of_first_world ? MPI_COMM_WORLD : comm, keyval, value, flag);
  if (result == MPI_SUCCESS && of_first_world && keyval == MPI_UNIVERSE_SIZE && *flag)
    *static_cast<int**>(value) = universe_size(*static_cast<int**>(value));
  return result;
}

int remove(MPI_Comm comm, int keyval) {
  comm = actual(comm);
  const int result = PMPI_Comm_delete_attr(comm, keyval);
  if (result == MPI_SUCCESS && (is_world(comm) || comm == MPI_COMM_SELF))
    attributes().deleted(comm == MPI_COMM_SELF, keyval);
  return result;
}

int create(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove_function, int* keyval,
           void* extra_state) {
  const int result = PMPI_Comm_create_keyval(copy, remove_function, keyval, extra_state);
  if (result == MPI_SUCCESS) attributes().created(*keyval, {copy, extra_state});
  return result;
}

void delete_in_reverse(MPI_Comm comm, const std::vector<int>& keyvals) {
  for (auto keyval = keyvals.rbegin(); keyval != keyvals.rend(); ++keyval) {
    void* value = nullptr;
    int found = 0;  // an earlier one's callback may have deleted it
    PMPI_Comm_get_attr(comm, *keyval, static_cast<void*>(&value), &found);
    if (found) PMPI_Comm_delete_attr(comm, *keyval);
  }
}

}  // namespace

void move_attributes(MPI_Comm from, MPI_Comm to) {
  const std::vector<int> keyvals = attributes().take(false);
  for (const int keyval : keyvals) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(from, keyval, static_cast<void*>(&value), &found);
    if (!found) continue;
    const Keyval functions = attributes().functions(keyval);
    void* copy = nullptr;
    int wanted = 0;
    if (functions.copy)
      functions.copy(from, keyval, functions.extra_state, value, static_cast<void*>(&copy), &wanted);
    if (wanted && PMPI_Comm_set_attr(to, keyval, copy) == MPI_SUCCESS) attributes().set(false, keyval);
  }
  delete_in_reverse(from, keyvals);
}

void delete_self_attributes() {
  // A callback may set another one: go on until none is left.
  for (std::vector<int> keyvals = attributes().take(true); !keyvals.empty();
       keyvals = attributes().take(true))
    delete_in_reverse(MPI_COMM_SELF, keyvals);
}

}  // namespace empi::rank

using namespace empi::rank;
using namespace empi::profile;

extern "C" {

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove_function,
                           int* keyval, void* extra_state) {
  const CallScope scope(Blocking::No, Collective::No);
  return create(copy, remove_function, keyval, extra_state);
}

int MPI_Keyval_create(MPI_Copy_function* copy, MPI_Delete_function* remove_function, int* keyval,
                      void* extra_state) {
  const CallScope scope(Blocking::No, Collective::No);
  return create(copy, remove_function, keyval, extra_state);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  const CallScope scope(Blocking::No, Collective::No);
  return set(comm, keyval, value);
}

int MPI_Attr_put(MPI_Comm comm, int keyval, void* value) {
  const CallScope scope(Blocking::No, Collective::No);
  return set(comm, keyval, value);
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  const CallScope scope(Blocking::No, Collective::No);
  return get(comm, keyval, value, flag);
}

int MPI_Attr_get(MPI_Comm comm, int keyval, void* value, int* flag) {
  const CallScope scope(Blocking::No, Collective::No);
  return get(comm, keyval, value, flag);
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  const CallScope scope(Blocking::No, Collective::No);
  return remove(comm, keyval);
}

int MPI_Attr_delete(MPI_Comm comm, int keyval) {
  const CallScope scope(Blocking::No, Collective::No);
  return remove(comm, keyval);
}

}  // extern "C"

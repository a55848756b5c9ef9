// SPDX-License-Identifier: Apache-2.0
// What those who write HDF5 files share: owners of its objects, its errors as exceptions, attributes of text,
// and datasets whose place in the file is known before there is anything in them, so that others fill them by
// pwrite (decision R21). For targets that link HDF5; serial HDF5 is not for several threads at a time.
#pragma once
#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace empi::hdf5 {

// An object of HDF5, closed when it goes. Throws std::runtime_error where there is none.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* what) : id_(id), close_(close) {
    if (id < 0) throw std::runtime_error(std::string("HDF5: ") + what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

inline void must(herr_t result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string("HDF5: ") + what);
}

// HDF5 prints a stack of its own for each error; ours are in words.
class Silence {
 public:
  Silence() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

inline Handle scalar() { return {H5Screate(H5S_SCALAR), H5Sclose, "a scalar"}; }

inline Handle shape(const std::vector<hsize_t>& sizes) {
  return {H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose, "a shape"};
}

// Of files: no locking, which not all file systems of clusters have.
inline Handle file_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "properties of a file");
  must(H5Pset_file_locking(access, false, true), "no locking");
  return access;
}

inline Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "a type of text");
  must(H5Tset_size(type, std::max<std::size_t>(bytes, 1)), "the length of a text");
  return type;
}

inline void put_text(hid_t object, const char* name, const std::string& text) {
  const Handle type = text_type(text.size());
  const Handle attribute(H5Acreate2(object, name, type, scalar(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
  const std::string padded = text.empty() ? std::string(1, '\0') : text;
  must(H5Awrite(attribute, type, padded.data()), name);
}

inline std::string get_text(hid_t object, const char* name) {
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, name);
  const Handle type(H5Aget_type(attribute), H5Tclose, name);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type))
    throw std::runtime_error(std::string("its attribute ") + name + " is no text of fixed length");
  constexpr std::size_t kLongest = 1 << 20;  // more is damage
  const std::size_t size = H5Tget_size(type);
  if (size > kLongest) throw std::runtime_error(std::string("its attribute ") + name + " is too long");
  std::string text(size, '\0');
  must(H5Aread(attribute, type, text.data()), name);
  return text.substr(0, text.find('\0'));
}

// A contiguous dataset that has its place in the file at once and is filled with nothing.
inline Handle placed_dataset(hid_t group, const std::string& name, hid_t type,
                             const std::vector<hsize_t>& sizes) {
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties of a dataset");
  must(H5Pset_layout(creation, H5D_CONTIGUOUS), "a contiguous layout");
  must(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "early allocation");
  must(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "no filling");
  must(H5Pset_obj_track_times(creation, false), "no times");
  return {H5Dcreate2(group, name.c_str(), type, shape(sizes), H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose,
          name.c_str()};
}

// Where in the file the first byte of such a dataset is; 0 of an empty one.
inline std::uint64_t offset_of(hid_t data) {
  const haddr_t offset = H5Dget_offset(data);
  return offset == HADDR_UNDEF ? 0 : offset;
}

}  // namespace empi::hdf5

// SPDX-License-Identifier: Apache-2.0
// The page in the browser, served to this machine. What it shows is the user's own, and other users, and
// pages of other sites that the browser has open, can reach the port as well: data are for who has the key,
// which the user's browser gets in the part of the address that is never sent anywhere; a request under
// another host's name is refused (a name of somebody's domain may be made to mean 127.0.0.1); no other site
// is told that it may read an answer.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace emj::cli::dashboard {

class Server {
 public:
  // `data` is called by one thread at a time; what it throws is told to the page. Port 0: any.
  // Throws std::runtime_error when the port is taken.
  Server(int port, std::function<std::string()> data);
  ~Server();

  int port() const;
  const std::string& key() const;
  std::string address() const;  // for the browser, with the key

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emj::cli::dashboard

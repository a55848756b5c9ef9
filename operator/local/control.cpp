// SPDX-License-Identifier: Apache-2.0
#include "operator/local/control.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runtime/base/json_text.hpp"

namespace emj::local {

using nlohmann::json;

namespace {

// A folder may have a path longer than a socket address: name the socket through an open descriptor.
struct SocketAddress {
  explicit SocketAddress(const StateFolder& state)
      : folder(open(state.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/socket";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  UniqueFd folder;
  sockaddr_un address{};
};

void set_timeouts(int socket, int seconds) {
  const timeval limit{seconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::optional<std::string> receive_line(int socket) {
  std::string line;
  char buffer[512];
  while (line.size() < 64 * 1024) {
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) return std::nullopt;
    line.append(buffer, static_cast<std::size_t>(count));
    if (line.back() == '\n') return line;
  }
  return std::nullopt;
}

bool send_line(int socket, const json& message) {
  const std::string line = empi::json_text::text(message) + "\n";
  return send(socket, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
}

std::optional<Command> decode(const std::string& line) {
  const json message = empi::json_text::try_parse(line, empi::json_text::kDeepestMessage);
  if (!message.is_object() || !message.contains("verb") || !message["verb"].is_string()) return std::nullopt;
  const std::string verb = message["verb"];
  if (verb == "cancel") return Command{Command::Verb::Cancel, 0};
  if (verb == "queue") return Command{Command::Verb::Queue};
  if (verb == "resume") return Command{Command::Verb::Resume, 0};
  if (verb == "scale" && message.contains("replicas") && message["replicas"].is_number_integer()) {
    return Command{Command::Verb::Scale, message["replicas"].get<int>()};
  }
  if (verb != "submit") return std::nullopt;
  try {
    Command command{Command::Verb::Submit};
    message.at("manifest").get_to(command.submission.manifest);
    message.at("fields").get_to(command.submission.fields);
    message.at("arguments").get_to(command.submission.arguments);
    message.at("workingDirectory").get_to(command.submission.working_directory);
    message.at("output").get_to(command.submission.output);
    return command;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

json encode(const Command& command) {
  switch (command.verb) {
    case Command::Verb::Scale:
      return {{"verb", "scale"}, {"replicas", command.replicas}};
    case Command::Verb::Cancel:
      return {{"verb", "cancel"}};
    case Command::Verb::Resume:
      return {{"verb", "resume"}};
    case Command::Verb::Queue:
      return {{"verb", "queue"}};
    case Command::Verb::Submit:
      return {{"verb", "submit"},
              {"manifest", command.submission.manifest},
              {"fields", command.submission.fields},
              {"arguments", command.submission.arguments},
              {"workingDirectory", command.submission.working_directory},
              {"output", command.submission.output}};
  }
  return {};
}

}  // namespace

EventLoop::Id serve_commands(EventLoop& loop, const StateFolder& folder,
                             std::function<Reply(const Command&)> handle) {
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const SocketAddress address(folder);
  unlink(folder.file("socket").c_str());
  if (bind(listener.get(), address.get(), sizeof address.address) != 0 || listen(listener.get(), 16) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "opening the control socket " + folder.file("socket"));
  }
  return loop.watch(std::move(listener), [handle = std::move(handle)](int fd) {
    UniqueFd connection(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection) return true;
    set_timeouts(connection.get(), 1);  // whoever connects has its line ready
    const auto line = receive_line(connection.get());
    if (!line) return true;
    const auto command = decode(*line);
    const Reply reply = command ? handle(*command)
                                : Reply{false, "not understood: " + *line +
                                                   "; expected verb scale, cancel, resume, submit or queue"};
    send_line(connection.get(), {{"ok", reply.ok}, {"message", reply.message}});
    return true;
  });
}

Reply send_command(const StateFolder& folder, const Command& command) {
  UniqueFd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  set_timeouts(connection.get(), 10);
  const SocketAddress address(folder);
  if (connect(connection.get(), address.get(), sizeof address.address) != 0) {
    return {false, std::string("its controller does not answer: ") + std::strerror(errno)};
  }
  const auto line =
      send_line(connection.get(), encode(command)) ? receive_line(connection.get()) : std::nullopt;
  if (!line) return {false, "its controller did not answer within 10 s"};
  const json reply = empi::json_text::try_parse(*line, empi::json_text::kDeepestMessage);
  if (!reply.is_object()) return {false, "its controller answered " + *line};
  return {reply.value("ok", false), reply.value("message", "")};
}

}  // namespace emj::local

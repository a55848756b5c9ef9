// SPDX-License-Identifier: Apache-2.0
#include "operator/local/local_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "operator/api/parse.hpp"

namespace emj::local {
namespace {

using testing::HasSubstr;

constexpr char kManifest[] = R"(
apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: demo}
spec:
  worker:
    replicas: 2
    minReplicas: 1
    maxReplicas: 8
    template: {spec: {containers: [{name: worker, command: ["program"]}]}}
)";

std::string fresh_root() {
  const std::string root = testing::TempDir() + "job-" + random_uuid();
  setenv("EMPI_STATE_DIR", root.c_str(), 1);
  return root;
}

class LocalJobTest : public testing::Test {
 protected:
  LocalJobTest() {
    UniqueFd lock = folder_.claim();
    write_file_atomically(manifest_, kManifest);
    LocalJobOptions options;
    options.run = "run";
    options.manifest = manifest_;
    options.load = [](const std::string& text) { return parse_yaml(text, "demo.yaml"); };
    options.mutual_tls = false;
    options.on_event = [this](bool, const std::string& line) { lines_.push_back(line); };
    options.on_change = [] {};
    job_.emplace(parse_yaml(kManifest, "demo.yaml").value(), folder_, std::move(lock), loop_, options);
  }
  void TearDown() override {
    loop_.stop();
    job_.reset();
    std::filesystem::remove_all(root_);
  }

  // Where the file of the spec would be there is a folder that is not empty.
  void take_the_room() {
    std::filesystem::remove(folder_.file("spec.yaml"));
    std::filesystem::create_directories(folder_.file("spec.yaml") + "/full");
  }
  void give_room() { std::filesystem::remove_all(folder_.file("spec.yaml")); }
  // The line that is said of the manifest when it is saved like that.
  std::string said_of(const std::string& manifest) {
    lines_.clear();
    write_file_atomically(manifest_, manifest);
    job_->look_at_manifest();
    EXPECT_EQ(lines_.size(), 1U);
    return lines_.empty() ? "" : lines_[0];
  }
  std::optional<int> replicas() const { return job_->record().job.spec.worker.replicas; }

  const std::string root_ = fresh_root();
  const std::string manifest_ = root_ + "/demo.yaml";
  StateFolder folder_{"demo"};
  EventLoop loop_;
  std::vector<std::string> lines_;
  std::optional<LocalJob> job_;
};

TEST_F(LocalJobTest, ASizeThatCannotBeWrittenDownIsRefusedAndTheJobGoesOn) {
  take_the_room();
  const Reply asked = send_command(folder_, {Command::Verb::Scale, 4});
  EXPECT_FALSE(asked.ok);
  EXPECT_THAT(asked.message, HasSubstr("spec.yaml"));
  const Outcome decided = job_->write_scale(5);
  EXPECT_EQ(decided.kind, Outcome::Kind::Retry);
  EXPECT_THAT(decided.message, HasSubstr("spec.yaml"));
  EXPECT_EQ(replicas(), 2);
  give_room();
  EXPECT_TRUE(send_command(folder_, {Command::Verb::Scale, 4}).ok);
  EXPECT_EQ(replicas(), 4);
}

TEST_F(LocalJobTest, AnEditThatCannotBeWrittenDownIsTakenWhenItIsSavedAgain) {
  std::string edited = kManifest;
  edited.replace(edited.find("maxReplicas: 8"), 14, "maxReplicas: 6");
  take_the_room();
  EXPECT_THAT(said_of(edited), HasSubstr("not in effect"));
  EXPECT_EQ(job_->record().job.spec.worker.max_replicas, 8);
  give_room();
  EXPECT_THAT(said_of(edited), HasSubstr("is in effect"));
  EXPECT_EQ(job_->record().job.spec.worker.max_replicas, 6);
}

}  // namespace
}  // namespace emj::local

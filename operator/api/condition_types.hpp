// SPDX-License-Identifier: Apache-2.0
// The types of an ElasticMPIJob's conditions. docs/conditions.md has a section for each: what it means and
// what to do; a test holds it to that.
#pragma once
#include <array>

namespace emj::condition {

inline constexpr const char* kWorkersReady = "WorkersReady";
inline constexpr const char* kRunning = "Running";
inline constexpr const char* kResizing = "Resizing";
inline constexpr const char* kSuspended = "Suspended";
inline constexpr const char* kQueued = "Queued";
inline constexpr const char* kSucceeded = "Succeeded";
inline constexpr const char* kFailed = "Failed";
inline constexpr const char* kOutcomeUnknown = "OutcomeUnknown";
inline constexpr const char* kInternalError = "InternalError";
inline constexpr const char* kPodCreationBlocked = "PodCreationBlocked";
inline constexpr const char* kDegraded = "Degraded";
inline constexpr const char* kResizeBlocked = "ResizeBlocked";
inline constexpr const char* kResizePending = "ResizePending";
inline constexpr const char* kAutoscalingPaused = "AutoscalingPaused";
inline constexpr const char* kSizeAdjusted = "SizeAdjusted";
inline constexpr const char* kCheckpointFailing = "CheckpointFailing";
inline constexpr const char* kDeadlineAtRisk = "DeadlineAtRisk";
inline constexpr const char* kBudgetAtRisk = "BudgetAtRisk";
// False of a job that another version has written in a way that this one cannot read.
inline constexpr const char* kReadable = "Readable";
inline constexpr const char* kReasonUnreadable = "Unreadable";  // its status.reason

inline constexpr const char* kReasonCancelled = "Cancelled";  // of Failed: by the user

inline constexpr std::array kAll{
    kWorkersReady,      kRunning,        kResizing,       kSuspended,         kQueued,
    kSucceeded,         kFailed,         kOutcomeUnknown, kInternalError,     kPodCreationBlocked,
    kDegraded,          kResizeBlocked,  kResizePending,  kAutoscalingPaused, kSizeAdjusted,
    kCheckpointFailing, kDeadlineAtRisk, kBudgetAtRisk,   kReadable};

}  // namespace emj::condition

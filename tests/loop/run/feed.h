// Feeds a daemon's session, as a program beside a real cluster does.

#ifndef EBB_TESTS_LOOP_RUN_FEED_H_
#define EBB_TESTS_LOOP_RUN_FEED_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "wire/planner.grpc.pb.h"

namespace ebb::test {

// A Sync stream that stays open until it is destroyed.
class Feed {
 public:
  Feed(const std::string& socket, const std::string& session)
      : stub_(v1alpha1::Planner::NewStub(
            grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()))),
        session_(session),
        stream_(stub_->Sync(&context_)) {}
  ~Feed() {
    stream_->WritesDone();
    v1alpha1::SyncReply reply;
    while (stream_->Read(&reply)) {
    }
    [[maybe_unused]] const grpc::Status unused = stream_->Finish();
  }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Objects in JSON.  False: the stream has ended.
  bool Resync(const std::vector<std::string>& objects) { return Send(objects, true, true); }
  bool BeginResync(const std::vector<std::string>& objects) { return Send(objects, true, false); }
  bool EndResync(const std::vector<std::string>& objects) { return Send(objects, false, true); }

 private:
  bool Send(const std::vector<std::string>& objects, bool begins, bool ends) {
    v1alpha1::SyncRequest request;
    request.set_session(session_);
    for (const std::string& object : objects) request.add_changes()->set_put_json(object);
    request.set_resync_begins(begins);
    request.set_resync_ends(ends);
    v1alpha1::SyncReply reply;
    return stream_->Write(request) && stream_->Read(&reply);
  }

  std::unique_ptr<v1alpha1::Planner::Stub> stub_;
  const std::string session_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1alpha1::SyncRequest, v1alpha1::SyncReply>> stream_;
};

}  // namespace ebb::test

#endif  // EBB_TESTS_LOOP_RUN_FEED_H_

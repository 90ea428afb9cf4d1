// A digest of a pod's whole spec.  The autoscaler treats pods of one controller with equal labels
// and specs as similar: once one of them found no place, it does not try the others.
//
// Digests are equal if the specs are equal apart from what the autoscaler ignores: env of
// containers, spec.hostname, projected volumes and their mounts.  spec.nodeName is ignored too,
// because digests are only used for pods without a node.
//
// Relies on: specs as the API server writes them.  It fills in every default, omits what is empty,
//            and writes amounts, numbers and the entries of maps in one way.  For other input,
//            these make no difference: the order of members, escapes, null, empty lists,
//            `resources: {}`, and how requests and limits are written.  But if only one of two
//            pods spells out a default, their digests differ and both are tried.
// Forms:     JSON and YAML give the same digest.  Protobuf gives another one, over its bytes,
//            because Go writes equal specs as equal bytes.  So two pods are similar in protobuf
//            exactly if they are in JSON.  A pod read from JSON is never similar to one read from
//            protobuf; the first pod of each form is tried.
// Collisions: 64 bits (XXH3).  Two specs of one controller that share a digest by chance would be
//            treated as similar.
// Cost:      O(bytes of the spec).
// Threads:   pure functions.
// Source:    cluster-autoscaler simulator/scheduling/similar_pods.go, and
//            PodSpecSemanticallyEqual in utils.

#ifndef EBB_SNAPSHOT_FORMATS_SPEC_DIGEST_H_
#define EBB_SNAPSHOT_FORMATS_SPEC_DIGEST_H_

#include <cstdint>
#include <string_view>

namespace ebb {

// `json` begins with the spec's opening brace; text after the closing brace is not read.
// Never 0.  Text that is not JSON, or nested deeper than any PodSpec, is hashed as plain text.
uint64_t DigestOfJsonSpec(std::string_view json);

// `bytes`: a v1.PodSpec.  Never 0.  Bytes that are not protobuf are hashed as they are.
uint64_t DigestOfProtoSpec(std::string_view bytes);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_SPEC_DIGEST_H_

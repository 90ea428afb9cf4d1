// What a pod's whole spec says, as a number: pods of one controller with equal numbers and labels
// are alike to the autoscaler, which tries no more of them once one found no place.
//
// Digests are equal where specs are, apart from what the autoscaler leaves out: env of containers,
// spec.hostname, projected volumes and their mounts.  spec.nodeName is left out as well, since
// digests are those of pods without a node.
//
// Relies on: specs as the API server writes them.  It fills in every default, leaves out what is
//            empty and writes amounts, numbers and the entries of maps in one way.  Of careless
//            input the order of members, escapes, null, empty lists, `resources: {}` and the way
//            in which requests and limits are written make no difference; a default that one of
//            two pods spells out does, and then both are tried.
// Forms:     JSON and YAML give the same digest, protobuf another one, over its bytes: Go writes
//            the same spec as the same bytes.  So pods are alike in one form if and only if they
//            are in the other.  Of pods that came in both forms, those of one form are not taken
//            for like those of the other; each form's first is tried.
// Collisions: 64 bits (XXH3); two specs of one controller that share a digest by chance would be
//            taken for alike.
// Cost:      O(bytes of the spec).
// Threads:   pure functions.
// Source:    cluster-autoscaler simulator/scheduling/similar_pods.go, utils
// PodSpecSemanticallyEqual.

#ifndef EBB_SNAPSHOT_FORMATS_SPEC_DIGEST_H_
#define EBB_SNAPSHOT_FORMATS_SPEC_DIGEST_H_

#include <cstdint>
#include <string_view>

namespace ebb {

// `json` begins with the spec's opening brace; what stands behind the closing one is not read.
// Never 0.  What is not JSON, or is nested deeper than any PodSpec, counts as the text that it is.
uint64_t DigestOfJsonSpec(std::string_view json);

// `bytes`: a v1.PodSpec.  Never 0.  What is no protobuf counts as the bytes that it is.
uint64_t DigestOfProtoSpec(std::string_view bytes);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_SPEC_DIGEST_H_

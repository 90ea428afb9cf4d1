// The JSON schema of the file of pools (policy_file.h), and samples of it, made from the keys that
// policies declare.
//
// Cost:    O(keys).
// Threads: pure.

#ifndef EBB_SIZING_POLICY_SCHEMA_H_
#define EBB_SIZING_POLICY_SCHEMA_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sizing/policy/policy_registry.h"

namespace ebb {

// JSON Schema, draft 2020-12.
nlohmann::ordered_json PolicyFileSchema(const PolicyRegistry& registry);

// A file with one pool, every key with its default or an example, and a comment.  It passes
// ReadPolicyFile.
std::string PolicyFileSample(const PolicySchool& school);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_SCHEMA_H_

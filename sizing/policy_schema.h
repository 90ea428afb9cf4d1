// The JSON schema of the file of pools (policy_file.h), and samples of that file.  Both are made
// from the keys that policies declare.
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

// A file with one pool, with a comment and a default or example for every key.  ReadPolicyFile
// accepts it.
std::string PolicyFileSample(const PolicySchool& school);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_SCHEMA_H_

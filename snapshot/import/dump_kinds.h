// The kinds of objects that an answer of ebb may depend on: the one list from which `ebb dump`,
// the hints of messages, the commands in docs/ and the feeders' lists come.
//
// A plan that is made without one of these kinds may be silently wrong.  So a kind is added here
// before a decision reads it.  Secrets and ConfigMaps are never on the list.

#ifndef EBB_SNAPSHOT_IMPORT_DUMP_KINDS_H_
#define EBB_SNAPSHOT_IMPORT_DUMP_KINDS_H_

#include <span>
#include <string>
#include <string_view>

namespace ebb {

struct DumpKind {
  std::string_view kind;      // "PodDisruptionBudget"
  std::string_view group;     // "policy"; "" for the core group.
  std::string_view resource;  // "poddisruptionbudgets"
  std::string_view word;      // Its name in the printed command: "pdb".
  // Whether every cluster that ebb plans for serves the kind.  `kubectl get` fails as a whole if
  // one of its resources is not served, so the printed command contains only such kinds; `ebb dump`
  // asks the server which of the others it serves.
  bool everywhere = true;
};

std::span<const DumpKind> DumpKinds();

// "nodes,pods,pdb,...": the `word`s of all kinds that every cluster serves.
const std::string& DumpWords();

// "kubectl get WORDS -A -o json"
std::string KubectlGet(std::string_view words);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_DUMP_KINDS_H_

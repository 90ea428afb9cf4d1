#include "snapshot/samples/generate.h"

namespace ebb::samples {
namespace {

constexpr Kind kKinds[] = {
    {"uniform", "equal nodes of 10 CPU, each with 40 equal pods that may move", GenerateUniform},
    {"mixed", "six machine shapes in three zones and pools, apps from one pod to hundreds",
     GenerateMixed},
    {"company", "what a company's cluster has: tainted pools, system pods, Jobs, StatefulSets, ...",
     GenerateCompany},
    {"topology", "every pod with anti-affinity and zone spread to those of its app",
     GenerateTopology},
    {"repelling", "10 pods a node; apps of 5, whose pods refuse each other on a node",
     GenerateRepelling},
    {"diverse", "10 pods a node, nearly every one a shape of its own, with a bit of every rule",
     GenerateDiverse},
    {"terms", "10 pods a node, each with an anti-affinity term of its own", GenerateTerms},
    {"excluding", "10 pods a node, each of which refuses every other on its node",
     GenerateExcluding},
    {"budgets", "10 pods a node, and as many budgets, each of all pods", GenerateBudgets},
    {"claims", "10 pods a node, each with a claim that waits for one of as many volumes",
     GenerateClaims},
};

}  // namespace

std::span<const Kind> Kinds() { return kKinds; }

}  // namespace ebb::samples

#include "service/session/wire_what_if.h"

namespace ebb {

namespace wire = v1alpha1;

void PutRemedies(std::span<const Counterfactual> found, wire::ExplainReply& reply) {
  for (int n = 0; n < reply.nodes_size() && static_cast<size_t>(n) < found.size(); ++n) {
    if (reply.nodes(n).order() > 0) continue;
    const Counterfactual& of = found[static_cast<size_t>(n)];
    wire::Remedies& remedies = *reply.mutable_nodes(n)->mutable_remedies();
    remedies.set_removed(of.removed);
    for (const Counterfactual::Help& help : of.helps) {
      wire::Remedies::Help& each = *remedies.add_helps();
      each.set_what(help.what);
      each.set_removed(help.removed);
    }
    for (const Counterfactual::InVain& in_vain : of.in_vain) {
      wire::Remedies::InVain& each = *remedies.add_in_vain();
      each.set_what(in_vain.what);
      each.set_still_kept_by(in_vain.still_kept_by);
    }
  }
}

}  // namespace ebb

// Scrubber replaces the texts of a cluster by pseudonyms, so that its snapshot may be shown to
// others and still answers the same questions with the same counts.
//
// The cluster is read twice: all objects go to Collecting(), then the same objects in the same
// order to Writing(), which hands them on.
//
// Kept as they are: amounts, times, priorities, ports; Kubernetes' own words (kinds of known API
// groups, phases, operators, effects, conditions); keys of labels, taints, resources and drivers
// whose domain is public, or that many clusters use (app, team); zones, regions, machine and
// capacity types, operating systems; the namespaces of Kubernetes; what rules read in annotations.
// Everything else becomes a pseudonym: names, UIDs, namespaces, values of labels, other keys,
// images, machines' and volumes' ids.  Equal texts become equal pseudonyms wherever they stand, so
// selectors, owners, claims and topologies match as before.  Annotations that no rule reads and
// messages are dropped, and so is what readers never keep (environments, commands).
//
// A field that Scrubber does not know becomes a pseudonym, by the table of fields
// (visit_fields.h).
//
// Order:   plans break ties by name, so pseudonyms sort as the texts that they replace.  They
//          begin with the text's place in that order, and end with a keyed hash (SipHash-2-4).
//          So a reader learns where a name stands in the alphabet among the others, and no more.
// Same:    the same key and input give the same bytes.  With the same key, the hash of a text is
//          also the same in other snapshots, while its place may differ.
// Cost:    two passes; memory for each distinct text.
// Threads: one at a time.

#ifndef EBB_SNAPSHOT_FORMATS_SCRUB_OBJECTS_H_
#define EBB_SNAPSHOT_FORMATS_SCRUB_OBJECTS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "snapshot/objects/object_sink.h"

namespace ebb {

class Scrubber {
 public:
  // The fewest bytes of a key.
  static constexpr size_t kKeyBytesMin = 16;

  // What happened, for people: category -> texts that are kept as they are.
  struct Report {
    std::map<std::string, std::set<std::string>> kept;
    std::map<std::string, uint64_t> dropped;  // Annotation keys -> objects that had them.
    size_t pseudonyms = 0;
  };

  // REQUIRES: key.size() >= kKeyBytesMin.
  explicit Scrubber(std::string_view key);
  ~Scrubber();
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  // The sink of the first pass.  Lives as long as the Scrubber.
  ObjectSink& Collecting();
  // The sink of the second pass, which hands scrubbed objects to `to`.  The sink lives as long as
  // the Scrubber.  REQUIRES: the first pass has ended.
  ObjectSink& Writing(ObjectSink& to);

  // Complete after the second pass.
  [[nodiscard]] const Report& report() const;

  // Whether the key of a label, taint or resource is kept as it is.
  static bool KeepsKey(std::string_view key);
  // Whether values of the label, taint or toleration are kept as they are.
  static bool KeepsValuesOf(std::string_view key);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_SCRUB_OBJECTS_H_

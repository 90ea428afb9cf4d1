#include "cli/flags/man_text.h"

namespace ebb {
namespace {

constexpr ManFile kEbbFiles[] = {
    {"/usr/share/doc/ebb",
     "What each command does, at length: plan.md, rounds.md, service.md and others."},
};
constexpr ManFile kPlanFiles[] = {
    {"ebb.db",
     "A state file (--state), one a planner. It is SQLite's; keep it where only the planner can "
     "write."},
    {"rounds.db",
     "A record (--record): the input and the decision of every round, for ebb replay. It is as "
     "confidential as a dump."},
};
constexpr ManFile kServeFiles[] = {
    {"/run/ebb/ebb.sock", "The socket that ebb.socket makes."},
    {"/var/lib/ebb", "The state files of ebb.service, a session each."},
    {"/etc/default/ebb",
     "EBB_FLAGS=... for ebb.service: flags beside its own, such as --allow-user=1000."},
};

constexpr ManText kTexts[] = {
    {"ebb",
     "ebb computes which nodes of a Kubernetes cluster can be removed together, and on which of "
     "the remaining nodes each of their pods lands. It plans as Cluster Autoscaler plans, with the "
     "scheduler's own rules, and checks every plan with independent code before it is printed.\n"
     "\n"
     "ebb plan reads dumps that kubectl makes, without any network access. No command changes a "
     "cluster but ebb run and ebb conformance, through an actuator plugin.",
     kEbbFiles},
    {"ebb plan",
     "Reads a whole cluster and prints the nodes that can go, in the order of their removal, the "
     "node "
     "that each of their pods lands on, and why the other nodes stay. A plan is for the moment of "
     "the "
     "dump: what it says holds if nothing else changes.\n"
     "\n"
     "Where pods must be missing there is no plan; where kinds of objects are, the plan says that "
     "it is "
     "of an incomplete cluster, and names of nodes and rounds are refused. --allow-incomplete "
     "overrides "
     "both. Other doubts are warnings on standard error, of which --strict makes errors.\n"
     "\n"
     "With --state it is a round of a planner that remembers: how long a node has been unneeded, "
     "cooldowns, deletions in progress. With --watch-file it plans again whenever the cluster "
     "changed. "
     "With --server a daemon plans, which ebb-serve(1) is.\n"
     "\n"
     "The flags of Cluster Autoscaler are known by name and may follow the input as they are "
     "pasted.",
     kPlanFiles},
    {"ebb filter",
     "Asks the scheduler's filters about a pod and every node, as if the pod were not placed. A "
     "node's "
     "verdict is the first filter that says no; with --node every filter answers.",
     {}},
    {"ebb gen",
     "Makes up a cluster. The same kind, number of nodes and seed make the same objects on every "
     "machine.",
     {}},
    {"ebb dump",
     "Runs kubectl to fetch every kind of objects that a plan may depend on, over all namespaces, "
     "and "
     "writes one file that ebb plan reads. A kind that the server does not have is named, and so "
     "is "
     "one that may not be read, with the reason. Secrets and ConfigMaps are not fetched; "
     "containers' "
     "environments are, unless --redact leaves them out.",
     {}},
    {"ebb import",
     "Reads what ebb-plan(1) reads and writes it as one file, whole or not at all. What a planner "
     "looks "
     "at is kept, the rest is not: an imported file is no backup. The plan is the same from "
     "either.",
     {}},
    {"ebb scrub",
     "Writes a snapshot in which every name is a pseudonym, so that it may be shown. Equal texts "
     "stay equal and sort as before, so selectors match and the plan is the same. Standard error "
     "lists all texts that are kept as they are.",
     {}},
    {"ebb top",
     "Shows a plan by group of nodes, with bars of what pods request of cpu and memory, and with "
     "--prices what it costs. On a terminal a new frame comes whenever the cluster has changed, "
     "until q is pressed; n shows each node. Elsewhere one frame is printed.",
     {}},
    {"ebb import openb",
     "Makes a cluster from a published trace of a production GPU cluster. The trace does not say "
     "where "
     "pods ran, so they are placed one by one, in an order that --seed chooses.",
     {}},
    {"ebb replay",
     "Decides every round of a record again, from the input that was recorded, and compares what "
     "is "
     "decided with what was decided then, byte for byte.",
     {}},
    {"ebb state",
     "Looks into the file in which a planner remembers its rounds, which ebb plan --state writes.",
     {}},
    {"ebb state show", "Prints timers, cooldowns, counters and the last rounds.", {}},
    {"ebb state set-clock",
     "A round that was made at a wrong time leaves times that lie ahead, and rounds at the right "
     "time "
     "would wait for them. Times in the state that lie after the one given are set to it.",
     {}},
    {"ebb policy",
     "Reads a file of pools, each with a sizing policy of Clusterman, Escalator, Maestro or "
     "Replicator, and prints how many nodes each pool should have.",
     {}},
    {"ebb policy schema",
     "Prints the JSON schema of the file of pools, with the keys of every policy.",
     {}},
    {"ebb policy init",
     "Prints a file with one pool, in which every key has its default or an example.",
     {}},
    {"ebb policy check",
     "Reads the file as eval does, and reports the first error with file, line and "
     "key.",
     {}},
    {"ebb policy eval",
     "Decides one round of each pool, and shows what the decision was computed from and which "
     "check "
     "denied it. With --state it goes on from the round before, and what it asks for counts as "
     "done; "
     "without it the round is each pool's first, and nothing is changed. A signal that is older "
     "than "
     "its period keeps the pool as it is.",
     {}},
    {"ebb policy failsafe",
     "Lists the pools of a state file with their failures in a row, or ends the failsafe of one. "
     "Nothing is done to a pool in failsafe until then, and no restart ends it.",
     {}},
    {"ebb policy simulate",
     "Runs each pool on a simulated cluster of its own over the same load, and compares "
     "node-hours, "
     "demand that was not met, actions and flapping. The same arguments give the same figures.",
     {}},
    {"ebb blockers",
     "Plans, and then changes whatever is the first obstacle of some node, one after the other: a "
     "budget, the pods of a workload, an annotation, the minimum of a group, the utilization "
     "threshold. Each time the plan is made again, and the row shows how many more nodes go. A "
     "node can have two obstacles, and nodes take each other's room: so nothing is counted that "
     "was not tried. No object is changed anywhere but in memory.",
     {}},
    {"ebb frontier",
     "Searches for plans at several prices of a pod that is moved, and shows for each number of "
     "pods evicted how many nodes go in the best of them, or, with --prices, what is saved. It "
     "is what was found in the time given, not what is possible.",
     {}},
    {"ebb report",
     "Writes one page for a browser: the plan with its bound and its trials, each node with its "
     "pods and reasons, utilization and money before and after, what keeps the other nodes with "
     "what a change of it would bring, the order of drains, and the best plan for each number of "
     "evictions. The file holds all of its data and fetches nothing. ebb plan, blockers, frontier "
     "and compare write such a page of their own answer with --report.",
     {}},
    {"ebb compare",
     "Reads two plans, as ebb plan -o json prints them, and lists the nodes that go in one of them "
     "alone and why the other keeps them, how many pods move, and, where both were made with "
     "--prices, what is saved.",
     {}},
    {"ebb prices",
     "Prints what machines cost, or makes a file of prices, for the --prices of ebb plan, ebb "
     "blockers and ebb frontier.",
     {}},
    {"ebb prices list",
     "Prints the prices that are built in, or those of --prices: approximate list prices of common "
     "machine types of AWS, Azure and GCP, with their date. With machine types as arguments it "
     "prints what each costs.",
     {}},
    {"ebb prices update",
     "Reads the price files that clouds publish, and writes one file of prices. It reads files "
     "alone and asks no cloud.",
     {}},
    {"ebb serve",
     "Holds clusters as they change and answers over a Unix socket, to any client of gRPC: plans, "
     "explanations, filters, rounds. Only the user that it runs as, root and those that "
     "--allow-user "
     "names may connect. It ends at SIGTERM or SIGINT, after the calls that it has begun.\n"
     "\n"
     "Under systemd it is ebb.service, on the socket of ebb.socket.",
     kServeFiles},
    {"ebb serve status",
     "Asks a daemon for its sessions: their size, their plans, their rounds, the memory that it "
     "has.",
     {}},
    {"ebb run",
     "With --actuator it runs the loop over a live cluster, until SIGTERM or SIGINT: a session of "
     "a "
     "daemon makes the rounds, and a plugin does what they decide. The daemon is another process "
     "(--server) or this one (--socket); a feeder keeps its cluster up to date. Whatever is away, "
     "late or answers what cannot be costs a round, and nothing is deleted on doubt.\n"
     "\n"
     "With --simulate it runs over a cluster in memory, for days of virtual time in seconds, and "
     "reports what scale-down saved and what it cost. The same load is simulated a second time "
     "without it.\n"
     "\n"
     "The same arguments give the same figures. The page of --report is one file that fetches "
     "nothing.\n"
     "\n"
     "With --dry-run it prints what it would do, with a live cluster or with that of a dump "
     "(--input), and does nothing.",
     {}},
    {"ebb conformance",
     "Tries out on an actuator plugin what the protocol asks of it, check by check, and reports "
     "which "
     "hold. Without --node it asks only for what must be refused. A node that is named is tainted "
     "and rolled back; with --drain-and-delete the first one is drained and deleted.\n"
     "\n"
     "It sees the cluster through the plugin alone: that the taints are there, that budgets hold "
     "and that pods are looked at again before a drain, the plugin's own tests must show.",
     {}},
    {"ebb version",
     "Prints the version as ebb --version does, the commit it was built from, how it was linked, "
     "and which features work on this machine: \"has\" or \"lacks\".",
     {}},
    {"ebb help", "Prints what a command does and takes, as its flag --help does.", {}},
    {"ebb man", "Prints the man page of a command, or writes those of all.", {}},
    {"ebb completion",
     "Prints a script that completes commands, flags, their values, files, and names of the nodes "
     "of "
     "the files that are on the line.",
     {}},
};

}  // namespace

const ManText* FindManText(std::string_view command) {
  for (const ManText& text : kTexts) {
    if (text.command == command) return &text;
  }
  return nullptr;
}

}  // namespace ebb

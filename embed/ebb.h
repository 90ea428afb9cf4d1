/* ebb.h: ebb inside another program.  Which nodes of a Kubernetes cluster can go, all together,
 * and where do their pods land?
 *
 *   ebb_cluster* cluster = NULL;
 *   ebb_error* error = NULL;
 *   ebb_plan* plan = NULL;
 *   if (ebb_cluster_new(EBB_ABI_VERSION, NULL, &cluster, &error) == EBB_OK &&
 *       ebb_cluster_load(cluster, dump, dump_size, &error) == EBB_OK &&
 *       ebb_cluster_plan(cluster, EBB_JSON, NULL, 0, &plan, &error) == EBB_OK) {
 *     for (size_t i = 0; i < plan->removals_count; ++i) puts(plan->removals[i].node.data);
 *   }
 *   if (error != NULL) fprintf(stderr, "%s\n", ebb_error_message(error));
 *   ebb_plan_free(plan);
 *   ebb_error_free(error);
 *   ebb_cluster_free(cluster);
 *
 * A cluster receives objects as bytes: a dump, or later changes.  Its answers are the same as for a
 * dump of its current objects.
 *
 * Messages:  requests and replies are the messages of planner.proto, as JSON (protobuf's mapping)
 *            or in binary.  The file is installed in share/ebb, and is wire/planner.proto in ebb's
 *            tree.  A request of size 0 has only defaults.  Fields that name a session, or a
 *            version to wait for, are ignored.
 * Units:     times are Unix seconds, durations seconds.
 * Errors:    a function returns EBB_OK or an error code.  With an error code it sets `*error`, if
 *            `error` is not NULL, to an error that the caller must free; with EBB_OK it leaves
 *            `*error` unchanged.  Other output parameters are written only with EBB_OK.  A call
 *            that fails changes nothing.  No argument makes a call end the process, and no
 *            exception leaves a call.
 * Ownership: an object that a function makes must be freed by its ebb_..._free, which also accepts
 *            NULL.  Arguments are read during the call and not kept.
 * Threads:   a cluster accepts calls from any thread; they run one after the other.  All other
 *            objects must be used by one thread at a time.  The library starts no thread and has
 *            no global state.
 * ABI:       EBB_ABI_VERSION counts changes that break a caller.  New functions, and new values at
 *            the end of enums, do not change it; structs never change.
 */
#ifndef EBB_EMBED_EBB_H_
#define EBB_EMBED_EBB_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EBB_ABI_VERSION 1

/* The numbers are gRPC's.  Codes, encodings and calls are plain integers, so that an invalid value
 * is an error and not undefined behaviour. */
typedef int32_t ebb_code;
enum {
  EBB_OK = 0,
  EBB_INVALID_ARGUMENT = 3, /* An argument breaks a rule; the message names object and field. */
  EBB_DEADLINE_EXCEEDED = 4,
  EBB_NOT_FOUND = 5,           /* A node or pod. */
  EBB_RESOURCE_EXHAUSTED = 8,  /* A limit, or memory. */
  EBB_FAILED_PRECONDITION = 9, /* The cluster allows no plan, or was closed; no state folder. */
  EBB_ABORTED = 10,
  EBB_INTERNAL = 13 /* A state file cannot be written, or a bug. */
};

typedef int32_t ebb_encoding;
enum { EBB_JSON = 0, EBB_PROTOBUF = 1 };

typedef struct ebb_error ebb_error;
typedef struct ebb_cluster ebb_cluster;
typedef struct ebb_batch ebb_batch;
typedef struct ebb_bytes ebb_bytes;

/* `data[size]` is 0; `size` does not count it. */
typedef struct ebb_text {
  const char* data;
  size_t size;
} ebb_text;

/* --- The library ------------------------------------------------------------------------- */

/* EBB_ABI_VERSION of the library. */
uint32_t ebb_abi_version(void);
/* "0.1.0". */
const char* ebb_version(void);

/* --- Errors and bytes ---------------------------------------------------------------------- */

ebb_code ebb_error_code(const ebb_error* error);
/* "Pod default/web-0: spec.containers[0]...".  Valid until the error is freed. */
const char* ebb_error_message(const ebb_error* error);
void ebb_error_free(ebb_error* error);

/* The content; valid until the bytes are freed. */
ebb_text ebb_bytes_text(const ebb_bytes* bytes);
void ebb_bytes_free(ebb_bytes* bytes);

/* --- A cluster ----------------------------------------------------------------------------- */

/* 0 and NULL mean the default, which each field names. */
typedef struct ebb_options {
  const char* name; /* The cluster's name in messages and files: "cluster". */
  /* The folder in which rounds keep their state; NULL: no rounds.  Only one cluster of a name may
   * use it at a time: if two write there, the later round or report fails with EBB_ABORTED. */
  const char* state_folder;
  uint64_t objects_max;    /* Limit for objects: 5,000,000. */
  uint64_t dump_bytes_max; /* Limit for a decompressed dump: 4 GiB. */
  /* Not 0: the cluster's objects are taken literally and assumed to be complete.  Pods that have
   * ended or are expendable count too, a namespace without an object has no labels, and a node
   * without pods is accepted as empty.  For a host that leaves out such pods itself, as the
   * autoscaler does. */
  int as_given;
} ebb_options;

/* `abi_version` must be EBB_ABI_VERSION; a library of another version returns an error. */
ebb_code ebb_cluster_new(uint32_t abi_version, const ebb_options* options, ebb_cluster** cluster,
                         ebb_error** error);
/* Frees everything but the handle.  Later calls, from any thread, return
 * EBB_FAILED_PRECONDITION. */
void ebb_cluster_close(ebb_cluster* cluster);
/* Also closes.  No other call may be running or follow. */
void ebb_cluster_free(ebb_cluster* cluster);

/* `allow` not 0: from now on questions are answered although pods or kinds of objects are missing,
 * as if every question had PlanInput.allow_incomplete.  0: if pods are certainly missing, no
 * question is answered; if kinds are missing, ebb_cluster_plan and rounds fail, and
 * PlanReply.complete is false in other replies. */
ebb_code ebb_cluster_allow_incomplete(ebb_cluster* cluster, int allow, ebb_error** error);

/* Sets how plans are made from now on, unless a call has its own settings.  `settings`: a message
 * Settings. */
ebb_code ebb_cluster_set_settings(ebb_cluster* cluster, ebb_encoding encoding, const void* settings,
                                  size_t size, ebb_error** error);

/* --- Changes ------------------------------------------------------------------------------- */

/* Replaces the cluster with a dump, in any form that `ebb plan` reads: JSON, YAML, gzip or ebb's
 * own. */
ebb_code ebb_cluster_load(ebb_cluster* cluster, const void* dump, size_t size, ebb_error** error);

/* A batch is applied completely or not at all.  An object may have up to 10 MB.  Returns NULL if
 * memory is exhausted. */
ebb_batch* ebb_batch_new(void);
void ebb_batch_free(ebb_batch* batch);
/* Empties the batch. */
void ebb_batch_clear(ebb_batch* batch);
size_t ebb_batch_size(const ebb_batch* batch);

/* Adds a Kubernetes object that is new or changed: its JSON, or Kubernetes' protobuf in its
 * envelope ("k8s\0" and a runtime.Unknown), which names the kind; client-go's protobuf serializer
 * writes it, an object's own Marshal() does not.  After an error the batch is unchanged. */
ebb_code ebb_batch_put(ebb_batch* batch, ebb_encoding encoding, const void* object, size_t size,
                       ebb_error** error);
/* The position of an object in a buffer of many. */
typedef struct ebb_range {
  size_t begin;
  size_t end; /* Position of the byte after the object. */
} ebb_range;

/* Adds many objects in one call: the parts `ranges` of `objects`, in this order.  Sets `*taken`, if
 * `taken` is not NULL, to the number of objects added.  This holds after an error too: the batch
 * then has the objects before the rejected one. */
ebb_code ebb_batch_put_many(ebb_batch* batch, ebb_encoding encoding, const void* objects,
                            size_t size, const ebb_range* ranges, size_t count, size_t* taken,
                            ebb_error** error);
/* Adds the deletion of an object.  `namespace_name` and `uid` may be NULL or empty.  For kinds with
 * namespaces, no namespace means "default", as in ebb_batch_put.  No UID means any UID. */
ebb_code ebb_batch_delete(ebb_batch* batch, const char* kind, const char* namespace_name,
                          const char* name, const char* uid, ebb_error** error);

/* Applies a batch, which stays unchanged.  `*version` counts batches and dumps, from 1; `version`
 * may be NULL.  If memory is exhausted in this call or in ebb_cluster_load, the cluster becomes
 * unusable: from then on all calls except ebb_cluster_free return EBB_FAILED_PRECONDITION. */
ebb_code ebb_cluster_apply(ebb_cluster* cluster, const ebb_batch* batch, uint64_t* version,
                           ebb_error** error);
/* As ebb_cluster_apply, for a message ApplyRequest: many objects in one call. */
ebb_code ebb_cluster_apply_message(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                                   size_t size, uint64_t* version, ebb_error** error);

/* --- Answers as structs ---------------------------------------------------------------------- */

typedef struct ebb_pod_name {
  ebb_text namespace_name;
  ebb_text name;
  ebb_text uid; /* "" if it has none. */
} ebb_pod_name;

typedef struct ebb_move {
  ebb_pod_name pod;
  ebb_text to; /* A node. */
} ebb_move;

typedef struct ebb_removal {
  ebb_text node;
  const ebb_move* moves; /* In the order in which the pods were placed. */
  size_t moves_count;
  int risky; /* A budget allows the evictions only one after the other. */
} ebb_removal;

/* Reasons have the autoscaler's spelling. */
typedef struct ebb_kept {
  ebb_text node;
  ebb_text reason;          /* "BlockedByPod" */
  ebb_text blocking_reason; /* "NotEnoughPdb", or "". */
  ebb_pod_name pod;         /* The pod that blocks, or that found no place. */
  ebb_text pdb;             /* NAMESPACE/NAME, or "". */
} ebb_kept;

typedef struct ebb_plan {
  ebb_text termination;        /* "complete", "limit", "deadline", or
                                  "evictionLimit" (search.max_evictions). */
  const ebb_removal* removals; /* In the order in which the nodes go. */
  size_t removals_count;
  const ebb_kept* kept; /* Of all nodes: also those that are no candidates. */
  size_t kept_count;
} ebb_plan;

/* Which nodes can go, and where their pods land.  `request`: a PlanCall; its form is ignored. */
ebb_code ebb_cluster_plan(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                          size_t size, ebb_plan** plan, ebb_error** error);
/* One pass, for a program that keeps timers and budgets itself.  `request`: a PlanInput. */
ebb_code ebb_cluster_pass(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                          size_t size, ebb_plan** plan, ebb_error** error);
void ebb_plan_free(ebb_plan* plan);

/* --- Answers as bytes ------------------------------------------------------------------------ */

typedef int32_t ebb_call;
enum {
  EBB_CALL_PLAN = 1,             /* PlanCall -> PlanReply */
  EBB_CALL_EXPLAIN = 2,          /* ExplainCall -> ExplainReply */
  EBB_CALL_FILTER = 3,           /* FilterCall -> FilterReply */
  EBB_CALL_PASS = 4,             /* PlanInput -> PassReply */
  EBB_CALL_ROUND = 5,            /* RoundCall -> RoundReply */
  EBB_CALL_REPORT_ACTUATION = 6, /* ActuationReport -> ActuationReply */
  EBB_CALL_STATUS = 7,           /* StatusRequest -> SessionStatus */
  EBB_CALL_EXPORT = 8,           /* ExportCall -> the binary snapshot, whatever the encoding */
  EBB_CALL_PASS_TABLE = 9,       /* PlanInput -> PassTable */
  EBB_CALL_BLOCKERS = 10,        /* BlockersCall -> BlockersReply */
  EBB_CALL_FRONTIER = 11,        /* FrontierCall -> FrontierReply */
  EBB_CALL_WHAT_IF = 12          /* WhatIfCall -> WhatIfReply */
};

/* The reply to a request, both in `encoding`.  With EBB_JSON, all replies but those of PASS,
 * REPORT_ACTUATION, STATUS and PASS_TABLE are the documents that `ebb plan -o json` and similar
 * commands print. */
ebb_code ebb_cluster_call(ebb_cluster* cluster, ebb_call call, ebb_encoding encoding,
                          const void* request, size_t size, ebb_bytes** reply, ebb_error** error);

/* Returns not 0 to end a call early.  Must be cheap, and must not call a function of the same
 * cluster. */
typedef int (*ebb_ends)(void* context);
/* As ebb_cluster_call.  The call asks `ends`, unless it is NULL, on its own thread many times a
 * second, and ends soon after the first answer that is not 0: PLAN, BLOCKERS, FRONTIER and WHAT_IF
 * with the best that they have found (which says so), EXPLAIN and FILTER with
 * EBB_DEADLINE_EXCEEDED.  Other calls do not ask. */
ebb_code ebb_cluster_call_until(ebb_cluster* cluster, ebb_call call, ebb_encoding encoding,
                                const void* request, size_t size, ebb_ends ends, void* context,
                                ebb_bytes** reply, ebb_error** error);

/* --- Tables ----------------------------------------------------------------------------------- */

/* docs/tables.md describes the tables.  `out` receives a stream of Arrow's C stream interface,
 * which the caller owns; it stays valid whatever becomes of the cluster. */
struct ArrowArrayStream;

/* `table`: "clusters", "nodes" or "pods".  `request`: a PlanInput; only its
 * settings and allow_incomplete count. */
ebb_code ebb_cluster_table(ebb_cluster* cluster, const char* table, ebb_encoding encoding,
                           const void* request, size_t size, struct ArrowArrayStream* out,
                           ebb_error** error);
/* A table of an answer in JSON, as ebb_cluster_call or `ebb plan -o json` wrote it.  `table`:
 * "plans", "removals", "moves" or "kept" of a plan, "blockers" or "frontier". */
ebb_code ebb_answer_table(const char* table, const void* answer, size_t size,
                          struct ArrowArrayStream* out, ebb_error** error);

/* --- Without a cluster ------------------------------------------------------------------------ */

/* How two plans in JSON differ: the document of `ebb compare -o json`. */
ebb_code ebb_compare(const void* before, size_t before_size, const void* after, size_t after_size,
                     ebb_bytes** comparison, ebb_error** error);
/* A cluster that `ebb gen KIND --nodes N --seed S` makes, as a binary snapshot for
 * ebb_cluster_load. */
ebb_code ebb_generate(const char* kind, uint32_t nodes, uint64_t seed, ebb_bytes** snapshot,
                      ebb_error** error);
/* The options of Settings as JSON: a list of {"option": path, "flag": name, "oldFlag": name,
 * "kind": "switch", "number", "seconds", "fraction", "percent", "word", "text",
 * "file" (the text of a file) or "list",
 * "words": [...], "default": value, "about": "loading", "plans" or "rounds"}.  "flag" and
 * "oldFlag" may be absent. */
ebb_code ebb_option_table(ebb_bytes** table, ebb_error** error);

#ifdef __cplusplus
}
#endif

#endif /* EBB_EMBED_EBB_H_ */

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
 * A cluster is told of objects, as bytes: a dump, or what changed since.  It answers as a dump of
 * the objects that are there now would be answered.
 *
 * Messages:  requests and replies are the messages of planner.proto, which is installed beside this
 *            header, as JSON (protobuf's mapping) or in binary.  A request of size 0 has nothing
 *            but defaults.  Fields that name a session or a version to wait for say nothing here.
 * Units:     times are Unix seconds, durations seconds.
 * Errors:    a function returns EBB_OK or says why not.  Where `error` is not NULL it then gets an
 *            error, to be freed; else it is left as it is.  What other parameters point to is
 *            written only with EBB_OK.  A call that fails has changed nothing.  No call ends the
 *            process for what it was given, and no exception leaves one.
 * Ownership: what a function makes is freed by its ebb_..._free, which takes NULL too.  What is
 *            handed in is read during the call and not kept.
 * Threads:   a cluster takes calls from any thread; they run one after the other.  All else
 *            belongs to one thread at a time.  No thread is started, and there is no global state.
 * ABI:       EBB_ABI_VERSION counts changes that break a caller.  Functions, and values at the end
 *            of enums, are added without one; structs stay as they are.
 */
#ifndef EBB_EMBED_EBB_H_
#define EBB_EMBED_EBB_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EBB_ABI_VERSION 1

/* The numbers are gRPC's.  Codes, encodings and calls are plain integers, so that a wrong one is an
 * error and nothing worse. */
typedef int32_t ebb_code;
enum {
  EBB_OK = 0,
  EBB_INVALID_ARGUMENT = 3, /* What was given breaks a rule; the message names object and field. */
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

/* `data[size]` is 0, which `size` does not count. */
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

/* Valid until the bytes are freed. */
ebb_text ebb_bytes_text(const ebb_bytes* bytes);
void ebb_bytes_free(ebb_bytes* bytes);

/* --- A cluster ----------------------------------------------------------------------------- */

/* 0 and NULL stand for defaults. */
typedef struct ebb_options {
  const char* name; /* Of the cluster, in messages and files: "cluster". */
  /* Where rounds keep their state; NULL: no rounds.  Of one cluster of a name at a time: where
   * two write there, the later one's round or report is refused with EBB_ABORTED. */
  const char* state_folder;
  uint64_t objects_max;    /* 5,000,000. */
  uint64_t dump_bytes_max; /* Of a dump, unpacked: 4 GiB. */
  /* Not 0: what the cluster is told of is all that counts, as it is.  Pods that have ended or are
   * expendable count too, a namespace of which nothing is told has no labels, and nodes without any
   * pod are believed.  For a host that leaves out by itself what does not count, as the autoscaler
   * does. */
  int as_given;
} ebb_options;

/* `abi_version` is EBB_ABI_VERSION: a library of another version refuses. */
ebb_code ebb_cluster_new(uint32_t abi_version, const ebb_options* options, ebb_cluster** cluster,
                         ebb_error** error);
/* Gives back all but the handle.  Calls that come later, from any thread, are answered with
 * EBB_FAILED_PRECONDITION. */
void ebb_cluster_close(ebb_cluster* cluster);
/* Also closes.  No other call may run or come. */
void ebb_cluster_free(ebb_cluster* cluster);

/* Not 0: from now on there are answers although pods or kinds of objects are missing, as if every
 * question had PlanInput.allow_incomplete.  Otherwise there is none where pods must be missing, and
 * where kinds are none from ebb_cluster_plan and no round; replies with PlanReply.complete say so.
 */
ebb_code ebb_cluster_allow_incomplete(ebb_cluster* cluster, int allow, ebb_error** error);

/* How plans are made from now on, unless a call says otherwise: a message Settings. */
ebb_code ebb_cluster_set_settings(ebb_cluster* cluster, ebb_encoding encoding, const void* settings,
                                  size_t size, ebb_error** error);

/* --- Changes ------------------------------------------------------------------------------- */

/* Replaces the cluster by a dump, as `ebb plan` reads them: JSON, YAML, gzip, ebb's own. */
ebb_code ebb_cluster_load(ebb_cluster* cluster, const void* dump, size_t size, ebb_error** error);

/* A batch is taken whole or not at all.  An object may have 10 MB.  NULL: there is no memory. */
ebb_batch* ebb_batch_new(void);
void ebb_batch_free(ebb_batch* batch);
/* The batch is empty again. */
void ebb_batch_clear(ebb_batch* batch);
size_t ebb_batch_size(const ebb_batch* batch);

/* A Kubernetes object that is there now, new or changed: its JSON, or Kubernetes' protobuf with or
 * without its envelope.  After an error the batch is as it was. */
ebb_code ebb_batch_put(ebb_batch* batch, ebb_encoding encoding, const void* object, size_t size,
                       ebb_error** error);
/* Where an object stands in the bytes of many. */
typedef struct ebb_range {
  size_t begin;
  size_t end; /* Of the byte behind it. */
} ebb_range;

/* Many objects in one call, in the order of `ranges`, which are of `objects`.  `taken`, which may
 * be NULL, gets how many were put, with an error too: the batch then has those before the object
 * that was refused. */
ebb_code ebb_batch_put_many(ebb_batch* batch, ebb_encoding encoding, const void* objects,
                            size_t size, const ebb_range* ranges, size_t count, size_t* taken,
                            ebb_error** error);
/* An object that is gone.  `namespace_name` and `uid` may be NULL or empty: no namespace is
 * "default" for kinds that have one, as for objects that are put; no UID stands for any. */
ebb_code ebb_batch_delete(ebb_batch* batch, const char* kind, const char* namespace_name,
                          const char* name, const char* uid, ebb_error** error);

/* `version` counts batches and dumps, from 1; it may be NULL.  The batch stays as it is.  Where
 * memory runs out in this call or in ebb_cluster_load, the cluster cannot be used any more: from
 * then on all calls but ebb_cluster_free tell EBB_FAILED_PRECONDITION. */
ebb_code ebb_cluster_apply(ebb_cluster* cluster, const ebb_batch* batch, uint64_t* version,
                           ebb_error** error);
/* The same of a message ApplyRequest, many objects in one call. */
ebb_code ebb_cluster_apply_message(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                                   size_t size, uint64_t* version, ebb_error** error);

/* --- Answers as structs ---------------------------------------------------------------------- */

typedef struct ebb_pod_name {
  ebb_text namespace_name;
  ebb_text name;
  ebb_text uid; /* "" where it has none. */
} ebb_pod_name;

typedef struct ebb_move {
  ebb_pod_name pod;
  ebb_text to; /* A node. */
} ebb_move;

typedef struct ebb_removal {
  ebb_text node;
  const ebb_move* moves; /* In the order in which the pods found their places. */
  size_t moves_count;
  int risky; /* A budget admits its pods only one after the other. */
} ebb_removal;

/* Reasons are spelled as the autoscaler spells them. */
typedef struct ebb_kept {
  ebb_text node;
  ebb_text reason;          /* "BlockedByPod" */
  ebb_text blocking_reason; /* "NotEnoughPdb", or "". */
  ebb_pod_name pod;         /* That blocks, or that found no place. */
  ebb_text pdb;             /* NAMESPACE/NAME, or "". */
} ebb_kept;

typedef struct ebb_plan {
  ebb_text termination;        /* "complete", "limit", "deadline", or
                                  "evictionLimit" (search.max_evictions). */
  const ebb_removal* removals; /* In the order in which the nodes go. */
  size_t removals_count;
  const ebb_kept* kept;
  size_t kept_count;
} ebb_plan;

/* Which nodes can go, and where their pods land.  `request`: a PlanCall; its form says nothing. */
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
  EBB_CALL_PASS_TABLE = 9        /* PlanInput -> PassTable */
};

/* The reply to a request, both in that encoding.  In JSON, plans, explanations, filters and rounds
 * are the documents that `ebb plan -o json` and so on print. */
ebb_code ebb_cluster_call(ebb_cluster* cluster, ebb_call call, ebb_encoding encoding,
                          const void* request, size_t size, ebb_bytes** reply, ebb_error** error);

#ifdef __cplusplus
}
#endif

#endif /* EBB_EMBED_EBB_H_ */

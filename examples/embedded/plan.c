#include <ebb/ebb.h>
#include <stdio.h>

int main(void) {
  static char dump[64 << 20];
  const size_t size = fread(dump, 1, sizeof dump, stdin);
  ebb_cluster* cluster = NULL;
  ebb_plan* plan = NULL;
  ebb_error* error = NULL;
  if (ebb_cluster_new(EBB_ABI_VERSION, NULL, &cluster, &error) == EBB_OK &&
      ebb_cluster_load(cluster, dump, size, &error) == EBB_OK &&
      ebb_cluster_plan(cluster, EBB_JSON, NULL, 0, &plan, &error) == EBB_OK) {
    for (size_t i = 0; i < plan->removals_count; ++i) puts(plan->removals[i].node.data);
  }
  if (error != NULL) fprintf(stderr, "%s\n", ebb_error_message(error));
  const int status = error != NULL;
  ebb_error_free(error);
  ebb_plan_free(plan);
  ebb_cluster_free(cluster);
  return status;
}

/* The ten lines of the README: which nodes of a dump can go. */
#include <ebb/ebb.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  ebb_cluster* cluster = NULL;
  ebb_error* error = NULL;
  ebb_plan* plan = NULL;
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  char* dump = NULL;
  size_t size = 0;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return 2;
  size = (size_t)ftell(file);
  rewind(file);
  dump = malloc(size + 1);
  if (dump == NULL || fread(dump, 1, size, file) != size) return 2;
  fclose(file);
  if (ebb_cluster_new(EBB_ABI_VERSION, NULL, &cluster, &error) == EBB_OK &&
      ebb_cluster_load(cluster, dump, size, &error) == EBB_OK &&
      ebb_cluster_plan(cluster, EBB_JSON, NULL, 0, &plan, &error) == EBB_OK) {
    for (size_t i = 0; i < plan->removals_count; ++i) puts(plan->removals[i].node.data);
  }
  if (error != NULL) fprintf(stderr, "%s\n", ebb_error_message(error));
  const int failed = error != NULL;
  free(dump);
  ebb_plan_free(plan);
  ebb_error_free(error);
  ebb_cluster_free(cluster);
  return failed;
}

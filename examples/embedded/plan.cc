#include <ebb/cluster.h>

#include <iostream>
#include <iterator>
#include <string>

int main() {
  const std::string dump(std::istreambuf_iterator<char>(std::cin), {});
  ebb::Result<ebb::Cluster> cluster = ebb::Cluster::New();
  const ebb::Error error = cluster ? cluster->Load(dump) : cluster.error();
  const ebb::Result<ebb::Plan> plan = error ? error : cluster->MakePlan();
  if (!plan) return std::cerr << plan.error().message() << '\n', 1;
  for (const ebb_removal& removal : plan->removals()) std::cout << ebb::View(removal.node) << '\n';
}

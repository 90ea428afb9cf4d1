# find_package(ebb) gives the target ebb::ebb: the headers ebb/ebb.h and ebb/cluster.h, and the shared library.
include("${CMAKE_CURRENT_LIST_DIR}/ebbTargets.cmake")

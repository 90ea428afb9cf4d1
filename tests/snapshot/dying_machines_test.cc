#include "snapshot/dying_machines.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace ebb::dying_machines_test {
namespace {

class DyingMachinesTest : public ::testing::Test {
 protected:
  static objects::Machine Machine(std::string_view name, std::string_view node,
                                  std::string_view provider_id = "") {
    objects::Machine machine;
    machine.meta.namespace_name = "ns";
    machine.meta.name = name;
    machine.meta.deletion_time = 100;
    machine.node_name = node;
    machine.provider_id = provider_id;
    return machine;
  }
  std::string Of(std::string_view node, std::string_view provider_id = "") {
    const std::string* const name =
        machines_.Of(symbols_.Intern(node), symbols_.Intern(provider_id));
    return name == nullptr ? "" : *name;
  }

  Symbols symbols_;
  DyingMachines machines_;
};

TEST_F(DyingMachinesTest, AMachineThatIsNotBeingDeletedIsNotKept) {
  objects::Machine machine = Machine("m", "a");
  machine.meta.deletion_time.reset();
  machines_.Put(machine, symbols_);
  EXPECT_TRUE(machines_.empty());
  machines_.Remove(machine, symbols_);
  EXPECT_EQ(Of("a"), "");
}

TEST_F(DyingMachinesTest, AMachineIsThatOfTheNodeItNamesElseOfTheProviderId) {
  machines_.Put(Machine("m", "a", "aws:///x"), symbols_);
  EXPECT_EQ(Of("a"), "Machine ns/m");
  EXPECT_EQ(Of("b", "aws:///x"), "");
  machines_.Put(Machine("n", "", "aws:///y"), symbols_);
  EXPECT_EQ(Of("b", "aws:///y"), "Machine ns/n");
  EXPECT_EQ(Of("b"), "");
  // A machine that names neither belongs to no node, not to the nodes without a provider ID.
  machines_.Put(Machine("o", ""), symbols_);
  EXPECT_EQ(Of("b"), "");
  EXPECT_EQ(Of(""), "");
}

TEST_F(DyingMachinesTest, TheFirstMachineByNameIsNamedUntilItGoes) {
  objects::NodeClaim claim;
  claim.meta.name = "c";
  claim.meta.deletion_time = 1;
  claim.node_name = "a";
  machines_.Put(claim, symbols_);
  machines_.Put(Machine("m", "a"), symbols_);
  EXPECT_EQ(Of("a"), "Machine ns/m");
  machines_.Remove(Machine("m", "a"), symbols_);
  EXPECT_EQ(Of("a"), "NodeClaim c");
  machines_.Remove(claim, symbols_);
  EXPECT_TRUE(machines_.empty());
}

}  // namespace
}  // namespace ebb::dying_machines_test

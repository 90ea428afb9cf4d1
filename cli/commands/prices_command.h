// `ebb prices list`: what ebb takes a machine type to cost.  `ebb prices update`: makes a file of
// prices from the clouds' own price files.
//
//   ebb prices list m5.xlarge n2-standard-8 --region eu-west-1
//   ebb prices update --from offers.json --region us-east-1 -o prices.yaml

#ifndef EBB_CLI_COMMANDS_PRICES_COMMAND_H_
#define EBB_CLI_COMMANDS_PRICES_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct PricesCommand {
  // list
  std::vector<std::string> types;
  std::vector<std::string> prices;
  std::vector<std::string> rules;
  std::string region;
  std::string capacity_type;
  std::string form = "table";
  // update
  std::vector<std::string> from;
  std::vector<std::string> regions;
  std::string output = "-";

  void AddTo(CLI::App& app);
  // Return the exit code.
  int RunList(std::ostream& out, std::ostream& err) const;
  int RunUpdate(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_PRICES_COMMAND_H_

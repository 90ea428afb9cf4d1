#!/usr/bin/env python3
"""Prices as a user sees them: the built-in catalogue, files over it, rules, and `ebb prices`.

    prices_command_test.py EBB [UNITTEST_ARGUMENT...]
"""

import csv
import io
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ebb_command_test as base  # noqa: E402
from ebb_command_test import START, node, pod  # noqa: E402


def machine(name, kind, region="us-east-1", capacity="on-demand", group="ng", cpu="4"):
    made = node(name, group=group, cpu=cpu)
    made["metadata"]["labels"] |= {"node.kubernetes.io/instance-type": kind, "karpenter.sh/capacity-type": capacity,
                                   "topology.kubernetes.io/region": region}
    return made


# Four nodes go: two of known types, one of an unknown type, one in an unknown region.
ITEMS = [machine("a", "m5.large", group="x"), machine("b", "m5.xlarge", capacity="spot", group="y"),
         machine("c", "x99.large", group="y"), machine("d", "m5.large", region="mars-1", group="x"),
         machine("room", "m5.4xlarge", cpu="64", group="z"), pod("p", "room", cpu="40", safe=False)]


class PricesCommandTest(base.EbbTest):
    def words(self, *words):
        return ["plan", self.dump(ITEMS), "--assume-complete", "--now", START, *words]

    def test_the_catalogue_prices_a_plan_and_says_what_it_assumes(self):
        plan = self.ebb_json(*self.words("--prices", "builtin"))
        summary = plan["summary"]
        self.assertEqual(summary["removed"], 4)
        self.assertEqual(summary["savedPerHour"], round(0.096 + 0.192 * 0.35 + 0.096, 6))
        self.assertEqual(summary["currency"], "USD")
        self.assertRegex(summary["prices"].pop("builtinAsOf"), r"^20\d\d-\d\d-\d\d$")
        self.assertEqual(summary["prices"], {
            "spotFactor": 0.35, "withoutPrice": [{"kind": "x99.large in us-east-1, on-demand", "nodes": 1}],
            "regionsWithoutFactor": [{"region": "mars-1", "nodes": 1}]})
        self.assertEqual({"NodesWithoutPrice", "RegionsWithoutFactor"}, {each["code"] for each in summary["warnings"]
                                                                         if "Without" in each["code"]})
        prices = {each["node"]: each.get("pricePerHour") for each in plan["remove"]}
        self.assertEqual(prices, {"a": 0.096, "b": 0.0672, "c": None, "d": 0.096})
        self.assertEqual({each["group"]: each["savedPerHour"] for each in summary["byGroup"] if each["removed"]},
                         {"x": 0.192, "y": 0.0672})
        text, said = self.ebb(*self.words("--prices", "builtin"))
        self.assertIn("Prices are approximate list prices of", text)
        self.assertIn("Spot nodes count as 0.35 of the price on demand", text)
        self.assertIn("x99.large in us-east-1, on-demand (1 node)", said)
        self.assertIn("mars-1 (1 node)", said)

    def test_a_file_and_rules_come_over_the_catalogue(self):
        file = self.write("mine.yaml", "prices: [{instanceType: x99.large, hourly: 1}]\nspot: 0.9\n")
        both = ("--prices", file, "--prices", "builtin")
        plan = self.ebb_json(*self.words(*both))
        self.assertEqual(plan["summary"]["savedPerHour"], round(0.096 * 2 + 0.192 * 0.9 + 1, 6))
        self.assertNotIn("withoutPrice", plan["summary"]["prices"])
        plan = self.ebb_json(*self.words(*both, "--price-rule", "spot=0.5,discount=0.25"))
        self.assertEqual(plan["summary"]["savedPerHour"], round(0.75 * (0.096 * 2 + 1) + 0.192 * 0.5, 6))
        self.assertEqual(plan["summary"]["prices"]["discount"], 0.25)
        self.assertIn("has no price", self.ebb(*self.words("--prices", file), code=1)[1])
        self.assertIn("second file of prices", self.ebb(*self.words("--prices", file, "--prices", file), code=1)[1])
        self.assertIn("--price-rule needs --prices", self.ebb(*self.words("--price-rule", "spot=1"), code=2)[1])
        self.ebb(*self.words(*both, "--price-rule", "spot=2"), code=2)
        wholly = self.write("based.yaml", "base: builtin\n")
        self.assertEqual(self.ebb_json(*self.words("--prices", wholly))["summary"]["savedPerHour"],
                         self.ebb_json(*self.words("--prices", "builtin"))["summary"]["savedPerHour"])

    def test_two_currencies_are_named(self):
        euros = self.write("euros.yaml", "currency: EUR\ndefault: 1\n")
        self.assertIn("euros.yaml: currency: is EUR, and the built-in prices are in USD",
                      self.ebb(*self.words("--prices", euros, "--prices", "builtin"), code=1)[1])

    def test_tables_and_csv_have_prices(self):
        wide = self.ebb(*self.words("--prices", "builtin", "-o", "wide"))[0]
        self.assertRegex(wide, r"PODS +RISKY +PRICE/H \(USD\)")
        self.assertRegex(wide, r"REASON +PRICE/H \(USD\) +DETAIL")
        self.assertRegex(wide, r" a +x .* 0\.0960")
        self.assertRegex(wide, r"(?m)^room .* 0\.7680")
        self.assertRegex(wide, r"GROUP +GO +OF +CPU +MEMORY +SAVES/H \(USD\)\nx +2 +2 .* 0\.19\n")
        text = self.ebb(*self.words("--prices", "builtin", "-o", "csv"))[0]
        rows = {row["node"]: row for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)}
        self.assertEqual({name: row["price_per_hour"] for name, row in rows.items()},
                         {"a": "0.096", "b": "0.0672", "c": "", "d": "0.096", "room": "0.768"})
        self.assertNotIn("price", self.ebb(*self.words("-o", "csv"))[0])
        self.assertNotIn("SAVES", self.ebb(*self.words())[0])

    def test_list_says_what_types_cost(self):
        out = self.ebb("prices", "list", "m5.large", "n2-standard-8", "--region", "eu-west-1")[0]
        self.assertRegex(out, r"m5\.large +eu-west-1 +any +0\.10656 +built in, 20")
        out = self.ebb("prices", "list", "m5.large", "x99", "--capacity-type", "spot", "--price-rule", "spot=0.5",
                       code=1)[0]
        self.assertRegex(out, r"m5\.large +any +spot +0\.048 ")
        self.assertRegex(out, r"x99 +any +spot +unknown")
        out = self.ebb("prices", "list")[0]
        for line in (r"^builtin, prices of 20.*, in USD$", r"(?m)^m5\.\* +any +any +any +0\.192$",
                     r"(?m)^n2-custom-\*-\* .* 0\.033174 \+ 0\.004446 a GiB$", r"(?m)^eu-west-1 +1\.11$"):
            self.assertRegex(out.splitlines()[0] if line.startswith("^") else out, line)
        copy = self.write("copy.yaml", self.ebb("prices", "list", "-o", "yaml")[0])
        self.assertRegex(self.ebb("prices", "list", "m5.large", "--prices", copy)[0], r"m5\.large .* 0\.096 ")

    def test_update_writes_a_file_that_plans_read(self):
        items = [{"currencyCode": "USD", "retailPrice": price, "armRegionName": "us-east-1", "armSkuName": name,
                  "skuName": name, "productName": "Series", "type": "Consumption", "serviceName": "Virtual Machines",
                  "unitOfMeasure": "1 Hour", "effectiveStartDate": "2026-01-01T00:00:00Z"}
                 for name, price in (("m5.large", 7), ("x99.large", 3))]
        page = self.write("page.json", json.dumps({"Items": items}))
        out = self.path("prices.yaml")
        self.assertIn("wrote 2 prices in USD as of 2026-01-01", self.ebb("prices", "update", "--from", page, "-o", out)[1])
        plan = self.ebb_json(*self.words("--prices", out, "--prices", "builtin"))
        self.assertEqual(plan["summary"]["savedPerHour"], round(7 + 3 + 0.192 * 0.35 + 0.096, 6))
        with open(out, encoding="utf-8") as file:
            self.assertEqual(self.ebb("prices", "update", "--from", page)[0], file.read())
        self.assertIn("no price of a Linux machine in these regions",
                      self.ebb("prices", "update", "--from", page, "--region", "nowhere", code=1)[1])
        self.ebb("prices", "update", "--from", page, "-o", page, code=1)
        with open(page, encoding="utf-8") as file:
            self.assertIn("Items", file.read())
        self.ebb("prices", "update", code=2)
        self.ebb("prices", code=2)


if __name__ == "__main__":
    base.EBB = os.path.abspath(sys.argv.pop(1))
    unittest.main()

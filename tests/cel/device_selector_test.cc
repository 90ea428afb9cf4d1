#include "cel/device_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebb::cel::device_selector_test {
namespace {

using testing::HasSubstr;

// A GPU of one driver, with an attribute of another domain.
class DeviceSelectorTest : public testing::Test {
 protected:
  std::vector<DeviceAttribute> attributes_ = {
      {"model", std::string_view("a100")},
      {"gpu.example.com/index", int64_t{3}},
      {"healthy", true},
      {"driverVersion", *Semver::Parse("535.104.5")},
      {"numa.example.com/node", int64_t{1}},
  };
  std::vector<DeviceCapacity> capacity_ = {{"memory", *Quantity::Parse("80Gi")},
                                           {"half", *Quantity::Parse("1.5Gi")}};
  uint64_t cost_ = 0;

  // "true", "false", or the status.
  std::string Ask(std::string_view expression) {
    const absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile(expression);
    if (!selector.ok()) return "compile: " + selector.status().ToString();
    const absl::StatusOr<bool> matches = selector->Matches({.driver = "gpu.example.com",
                                                            .attributes = attributes_,
                                                            .capacity = capacity_,
                                                            .allow_multiple_allocations = true},
                                                           cost_);
    if (!matches.ok()) return matches.status().ToString();
    return *matches ? "true" : "false";
  }

  void ExpectTrue(std::string_view expression) { EXPECT_EQ(Ask(expression), "true") << expression; }
  void ExpectFails(std::string_view expression, std::string_view why) {
    EXPECT_THAT(Ask(expression), testing::AllOf(testing::StartsWith("INVALID_ARGUMENT"),
                                                HasSubstr(std::string(why))))
        << expression;
  }
  void ExpectRefused(std::string_view expression) {
    EXPECT_THAT(Ask(expression), testing::StartsWith("compile: INVALID_ARGUMENT")) << expression;
  }
  void ExpectNotUnderstood(std::string_view expression) {
    EXPECT_THAT(Ask(expression), HasSubstr("UNIMPLEMENTED: not understood: ")) << expression;
  }
};

TEST_F(DeviceSelectorTest, ReadsTheFieldsOfADevice) {
  ExpectTrue(R"(device.driver == "gpu.example.com")");
  ExpectTrue("device.allowMultipleAllocations");
  ExpectTrue(R"(device.attributes["gpu.example.com"].model == "a100")");
  ExpectTrue(R"(device.attributes["gpu.example.com"]["index"] > 2)");
  ExpectTrue(R"(device.attributes["numa.example.com"].node in [0, 1])");
  ExpectTrue(R"(device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi")))");
  ExpectTrue(R"(device.attributes["gpu.example.com"].driverVersion.major() >= 535)");
}

TEST_F(DeviceSelectorTest, NamesWithoutADomainAreOfTheDriver) {
  ExpectTrue(R"(has(device.attributes[device.driver].model))");
  ExpectTrue(R"(!has(device.attributes["numa.example.com"].model))");
}

TEST_F(DeviceSelectorTest, AnUnknownDomainIsEmptyAndAnUnknownNameFails) {
  ExpectTrue(R"(!has(device.attributes["other.example.com"].model))");
  ExpectTrue(R"(!("other.example.com" in device.attributes))");
  ExpectTrue(R"("gpu.example.com" in device.attributes)");
  ExpectFails(R"(device.attributes["other.example.com"].model == "a100")", "no such key: model");
}

TEST_F(DeviceSelectorTest, AndAndOrHideErrorsOfTheirOtherSide) {
  ExpectTrue(R"(device.attributes["x"].y == 1 || true)");
  ExpectTrue(R"(!(device.attributes["x"].y == 1 && false))");
  ExpectFails(R"(device.attributes["x"].y == 1 || false)", "no such key: y");
}

TEST_F(DeviceSelectorTest, ValuesOfOtherTypesFailOrDiffer) {
  ExpectTrue(R"(device.attributes["gpu.example.com"].model != 1)");
  ExpectFails(R"(device.attributes["gpu.example.com"].model > 1)", "no function");
  ExpectFails(R"(device.attributes["gpu.example.com"].model)", "not a bool");
}

TEST_F(DeviceSelectorTest, UnsupportedAttributesFailEverySelector) {
  attributes_.push_back({"list", std::monostate()});
  ExpectFails("true", "attribute list: unsupported attribute value");
}

TEST_F(DeviceSelectorTest, RefusesWhatTheApiServerRefuses) {
  ExpectRefused("");
  ExpectRefused("device.driver");
  ExpectRefused("device.name == 'x'");
  ExpectRefused("1 + 'a' == 2");
  ExpectRefused("[1, 'a'] == []");
  ExpectRefused("driver == 'x'");
  ExpectRefused("int('x') == 1");
  ExpectRefused("true && ");
  ExpectRefused("'a' 'b'");
  ExpectRefused("9223372036854775808 > 0");
}

TEST_F(DeviceSelectorTest, SaysWhatItDoesNotUnderstand) {
  ExpectNotUnderstood("duration('1s') == duration('1s')");
  ExpectNotUnderstood("b'a' == b'a'");
  ExpectNotUnderstood("type(1) == int");
  ExpectNotUnderstood("[1, 2].all(i, v, v > i)");
  ExpectNotUnderstood("'%d'.format([1]) == '1'");
  ExpectNotUnderstood(R"('a'.matches('\\pL'))");
  ExpectNotUnderstood("string(1.5) == '1.5'");
  ExpectNotUnderstood(std::string(500, '(') + "true" + std::string(500, ')'));
}

TEST_F(DeviceSelectorTest, BindsVariablesOnceAndLate) {
  ExpectTrue(
      R"(cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model == "a100" && gpu.healthy))");
  ExpectTrue("cel.bind(x, 1 / 0, true)");
  ExpectTrue("cel.bind(x, 1, cel.bind(x, x + 1, x == 2))");
}

TEST_F(DeviceSelectorTest, ExpandsMacros) {
  ExpectTrue("[1, 2, 3].all(i, i > 0) && [1, 2].exists(i, i == 2) && [1, 2].exists_one(i, i == 2)");
  ExpectTrue("[1, 2, 3].filter(i, i % 2 == 1).map(i, i * 10) == [10, 30]");
  ExpectTrue("[1, 2, 3].map(i, i > 1, i) == [2, 3]");
  ExpectTrue(R"(device.attributes.exists(d, d == "numa.example.com"))");
}

TEST_F(DeviceSelectorTest, OrderOfKeysIsNotUnderstood) {
  ExpectTrue(R"(device.attributes.map(d, d).size() == 2)");
  ExpectTrue(R"("numa.example.com" in device.attributes.map(d, d))");
  ExpectNotUnderstood(R"(device.attributes.map(d, d)[0] == "gpu.example.com")");
}

TEST_F(DeviceSelectorTest, ReadsOptionalFields) {
  ExpectTrue(R"(device.attributes["gpu.example.com"].?model.orValue("") == "a100")");
  ExpectTrue(R"(device.attributes["gpu.example.com"].?color.orValue("red") == "red")");
  ExpectTrue(R"(!device.attributes["gpu.example.com"][?"color"].hasValue())");
  ExpectTrue(R"(optional.none().or(optional.of(1)).value() == 1)");
  ExpectTrue(R"(device.attributes["gpu.example.com"].?index.optMap(i, i + 1) == optional.of(4))");
  ExpectTrue("[?optional.none(), 1] == [1]");
}

TEST_F(DeviceSelectorTest, AnErrorInAnOptionalIsNotUnderstoodAsAnElement) {
  // Kubernetes cannot wrap the version a second time, and puts that error into the map.
  ExpectNotUnderstood(
      R"({?"x": device.?attributes["gpu.example.com"].?driverVersion.optMap(v, v)}.exists(v, (v + v) in [1, 1].map(w, "a")))");
  ExpectNotUnderstood(
      R"({?"x": device.attributes["gpu.example.com"].?driverVersion.optMap(v, v)}.size() == 1)");
}

TEST_F(DeviceSelectorTest, NullMayBeATimeForTheTypes) {
  ExpectFails(R"(device.attributes["gpu.example.com"].index < null)", "no function");
}

TEST_F(DeviceSelectorTest, ComparesNumbersOfAllKinds) {
  ExpectTrue("1 < 1.5 && 2u > 1 && 3 >= 3u && 1.0 <= 1u");
  ExpectTrue("dyn(1) == 1.0 && 1 in [1, 2]");
  ExpectTrue("9007199254740993 > 9007199254740992 && -1 < 0u");
  ExpectFails("9223372036854775807 + 1 > 0", "64 bits");
  ExpectFails("1 / 0 == 1", "zero");
  ExpectTrue("-7 / 2 == -3 && -7 % 2 == -1");
}

TEST_F(DeviceSelectorTest, HasTheFunctionsOfStrings) {
  ExpectTrue("'gpu-a100'.startsWith('gpu') && 'a100'.endsWith('100') && 'abc'.contains('b')");
  ExpectTrue("'a-b-c'.split('-') == ['a', 'b', 'c'] && ['a', 'b'].join('+') == 'a+b'");
  ExpectTrue("'h\u00e9llo'.size() == 5 && 'h\u00e9llo'.substring(1, 2) == '\u00e9'");
  ExpectTrue("'abcabc'.indexOf('c', 3) == 5 && 'abcabc'.lastIndexOf('a') == 3");
  ExpectTrue(
      "' x '.trim() == 'x' && 'aXa'.replace('a', 'b', 1) == 'bXa' && 'Ab'.lowerAscii() == 'ab'");
  ExpectTrue(R"('a100-80gb'.matches('^a[0-9]+-'))");
  ExpectTrue(R"("a\u0041\x41\101\n" == 'aAAA\n' && r'\d' == '\\d')");
}

TEST_F(DeviceSelectorTest, HasKubernetesQuantities) {
  ExpectTrue("quantity('1Gi') == quantity('1024Mi') && quantity('1Ki').asInteger() == 1024");
  ExpectTrue("quantity('50k').add(quantity('20k')).sub(20000).compareTo(quantity('50k')) == 0");
  ExpectTrue("sign(quantity('-1')) == -1 && !isQuantity('1 Gi') && isQuantity('1e3')");
  // As in Kubernetes, which holds it as a decimal.
  ExpectTrue("!quantity('1.5Ki').isInteger()");
  ExpectNotUnderstood(R"(device.capacity["gpu.example.com"].half.add(1).isInteger())");
}

TEST_F(DeviceSelectorTest, HasSemanticVersions) {
  ExpectTrue(
      "semver('1.10.0').isGreaterThan(semver('1.9.9')) && semver('v1.2', true).minor() == 2");
  ExpectTrue("semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && !isSemver('1.2')");
  ExpectFails(R"(device.attributes["gpu.example.com"].driverVersion == "535.104.5")",
              "no function");
  ExpectTrue(R"(device.attributes["gpu.example.com"].driverVersion == semver("535.104.5+build"))");
}

TEST_F(DeviceSelectorTest, HasSetsAndLists) {
  ExpectTrue(
      "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1], [1, 1])");
  ExpectTrue("[3, 1].min() == 1 && [1, 2].sum() == 3 && [1, 2].isSorted() && [1, 2].includes(2)");
  ExpectTrue("{'a': 1, 'b': 2}['b'] == 2 && !('c' in {'a': 1})");
}

TEST_F(DeviceSelectorTest, CountsCostsAsKubernetes) {
  Ask("true");
  EXPECT_EQ(cost_, 0);
  Ask(R"(device.attributes["gpu.example.com"].model == "a100")");
  EXPECT_EQ(cost_, 5);  // One variable, three fields and an equality.
  Ask(R"(device.driver in ["a", "gpu.example.com"])");
  EXPECT_EQ(cost_, 2);
}

TEST_F(DeviceSelectorTest, AttributesMayBeListsForTheTypesOfKubernetes137) {
  constexpr std::string_view kExpression =
      R"(device.attributes["gpu.example.com"].models.exists(m, m == "a100"))";
  EXPECT_EQ(DeviceSelector::Compile(kExpression).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(DeviceSelector::Compile(kExpression, SelectorRules::kKubernetes137).ok());
}

TEST_F(DeviceSelectorTest, EndsWhatCostsTooMuch) {
  std::string list = "[0";
  for (int i = 1; i < 120; ++i) list += "," + std::to_string(i);
  list += "]";
  const std::string all =
      list + ".all(a, " + list + ".all(b, " + list + ".all(c, a + b + c >= 0)))";
  EXPECT_THAT(Ask(all), testing::StartsWith("RESOURCE_EXHAUSTED"));
  // No operator hides it.
  EXPECT_THAT(Ask(all + " || true"), testing::StartsWith("RESOURCE_EXHAUSTED"));
  // Cheap by the language's cost, but too large.
  std::string doubling = "x.size() > 0";
  for (int i = 0; i < 40; ++i) doubling = "cel.bind(x, x + x, " + doubling + ")";
  ExpectNotUnderstood("cel.bind(x, [1], " + doubling + ")");
}

TEST_F(DeviceSelectorTest, CopiesShareOneProgram) {
  absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile("device.driver == 'd'");
  const DeviceSelector copy = *selector;
  selector = absl::UnknownError("gone");
  EXPECT_TRUE(*copy.Matches({.driver = "d"}));
}

}  // namespace
}  // namespace ebb::cel::device_selector_test

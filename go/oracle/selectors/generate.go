package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A generator makes expressions by their types, with a few of the wrong type.
type generator struct {
	*rand.Rand
	variables []variable
	budget    int // Nodes that the expression may still have.
}

type variable struct{ name, kind string }

func (g *generator) pick(options ...string) string { return options[g.IntN(len(options))] }

// device makes a device of one of two drivers.
func (g *generator) device() *device {
	d := &device{Driver: g.pick("a.io", "b.io"), Shared: g.IntN(2) == 0,
		Attributes: []attribute{}, Capacity: []capacity{}}
	names := map[string]bool{}
	name := func(letter string) string {
		n := fmt.Sprintf("%s%d", letter, g.IntN(3))
		domain := g.pick("", "a.io", "a.io", "b.io")
		key := domain + "/" + n
		if domain == "" {
			key = d.Driver + "/" + n
		}
		if names[key] {
			return ""
		}
		names[key] = true
		if domain == "" {
			return n
		}
		return key
	}
	for range g.IntN(24) {
		a := attribute{}
		switch letter := g.pick("b", "i", "s", "v", "x"); letter {
		default:
			if a.Name = name(letter); a.Name == "" {
				continue
			}
			kind := letter
			if letter == "x" || g.IntN(30) == 0 {
				kind = g.pick("b", "i", "s", "v")
			}
			switch kind {
			case "b":
				v := g.IntN(2) == 0
				a.Bool = &v
			case "i":
				v := []int64{0, 1, 2, 3, 80, -1, 1 << 40, 9223372036854775807}[g.IntN(8)]
				a.Int = &v
			case "s":
				v := g.text()
				a.String = &v
			case "v":
				v := g.version()
				a.Version = &v
			}
		}
		d.Attributes = append(d.Attributes, a)
	}
	for range g.IntN(8) {
		c := capacity{Name: name("q"), Value: g.amount()}
		if c.Name != "" {
			d.Capacity = append(d.Capacity, c)
		}
	}
	return d
}

func (g *generator) text() string {
	return g.pick("", "a", "b", "abc", "A100", "nvidia-a100-80gb", "true", "12", "1.2.3", "1Gi", "é x ", "a,b,c",
		"a.io", "aXbXaX", strings.Repeat("long", 9))
}

func (g *generator) version() string {
	return g.pick("0.0.1", "1.2.3", "1.2.4", "1.10.0", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0-alpha", "2.0.0", "1.2.3+build", "535.104.5")
}

func (g *generator) amount() string {
	return g.pick("0", "1", "2", "1k", "1Ki", "1Gi", "40Gi", "80Gi", "1500m", "1.5", "1.5Gi", "0.5Gi", "1e3", "-1", "-1Gi", "100n", "1E", "3Ti", "1000000u", "12e6")
}

// expression makes the text of a selector.
func (g *generator) expression() string {
	g.variables = nil
	g.budget = []int{3, 6, 12, 25}[g.IntN(4)]
	text := g.make("bool")
	if g.IntN(12) == 0 {
		text = g.damage(text)
	}
	return text
}

// damage changes a few characters.
func (g *generator) damage(text string) string {
	for range 1 + g.IntN(2) {
		if text == "" {
			break
		}
		at := g.IntN(len(text))
		switch g.IntN(4) {
		case 0:
			text = text[:at] + text[at+1:]
		case 1:
			text = text[:at] + g.pick("(", ")", "[", "]", "-", "!", "?", ".", ",", "'", "\"", " ", "in", "0", "x", "&&", ":", "u", "\\", "+") + text[at:]
		case 2:
			end := min(len(text), at+1+g.IntN(5))
			text = text[:at] + text[at:end] + text[at:]
		case 3:
			end := min(len(text), at+1+g.IntN(8))
			text = text[:at] + text[end:]
		}
	}
	return strings.ToValidUTF8(text, "?")
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// domain is the text of a domain's attributes or capacity.
func (g *generator) domain(field string) string {
	return g.pick(
		`device.`+field+`["a.io"]`, `device.`+field+`["a.io"]`, `device.`+field+`["b.io"]`, `device.`+field+`["c.io"]`,
		`device.`+field+`[device.driver]`, `device.`+field+`["b.io"]`, `device.?`+field+`["a.io"]`, `device.`+field+`["a.io"]`)
}

// attribute is one whose name tells the type, mostly.
func (g *generator) attribute(letter string) string {
	if g.IntN(16) == 0 {
		letter = g.pick("b", "i", "s", "v", "x")
	}
	name := fmt.Sprintf("%s%d", letter, g.IntN(3))
	return g.domain("attributes") + g.pick("."+name, "."+name, "."+name, `["`+name+`"]`)
}

// in makes an expression with more variables.
func (g *generator) with(kind string, variables ...variable) string {
	before := len(g.variables)
	g.variables = append(g.variables, variables...)
	text := g.make(kind)
	g.variables = g.variables[:before]
	return text
}

var kinds = []string{"bool", "int", "string", "double", "uint", "quantity", "semver", "ints", "strings", "optint", "optstring", "dyn", "map", "null", "optsemver", "bools", "optquantity", "quantities"}

func (g *generator) make(kind string) string {
	g.budget--
	if g.IntN(400) == 0 {
		kind = kinds[g.IntN(len(kinds))]
	}
	if g.budget > 0 || g.IntN(3) == 0 {
		known := []string{}
		for _, v := range g.variables {
			if v.kind == kind {
				known = append(known, v.name)
			}
		}
		if len(known) > 0 && g.IntN(3) == 0 {
			return known[g.IntN(len(known))]
		}
	}
	if g.budget <= 0 {
		return g.leaf(kind)
	}
	if text := g.anyKind(kind); text != "" {
		return text
	}
	return g.node(kind)
}

// anyKind is a form that every type has, or "".
func (g *generator) anyKind(kind string) string {
	name := fmt.Sprintf("v%d", len(g.variables))
	switch g.IntN(40) {
	case 0:
		return fmt.Sprintf("(%s ? %s : %s)", g.make("bool"), g.make(kind), g.make(kind))
	case 1, 2:
		other := kinds[g.IntN(len(kinds))]
		return fmt.Sprintf("cel.bind(%s, %s, %s)", name, g.make(other), g.with(kind, variable{name, other}))
	case 3:
		if opt := "opt" + kind; opt == "optint" || opt == "optstring" || opt == "optsemver" || opt == "optquantity" {
			return fmt.Sprintf("%s.%s", g.make(opt), g.pick("value()", "orValue("+g.make(kind)+")"))
		}
	case 4:
		if kind == "int" || kind == "string" || kind == "bool" || kind == "quantity" {
			list := map[string]string{"int": "ints", "string": "strings", "bool": "bools", "quantity": "quantities"}[kind]
			return fmt.Sprintf("%s[%s]", g.make(list), g.make("int"))
		}
	case 5:
		if kind == "int" || kind == "string" || kind == "bool" {
			return fmt.Sprintf("%s(%s)", kind, g.make(g.pick("int", "string", "bool", "dyn", "uint", "double")))
		}
	case 6:
		return "dyn(" + g.make(kind) + ")"
	}
	return ""
}

func (g *generator) leaf(kind string) string {
	switch kind {
	case "bool":
		return g.pick("true", "false", g.attribute("b"), g.attribute("b"), "device.allowMultipleAllocations")
	case "int":
		return g.pick("0", "1", "2", "3", "80", "-1", "9223372036854775807", "0x10", g.attribute("i"), g.attribute("i"))
	case "uint":
		return g.pick("0u", "1u", "2u", "18446744073709551615u", "uint(3)")
	case "double":
		return g.pick("0.0", "1.0", "1.5", "-2.5", "1e3", "0.1", "9.3e18")
	case "string":
		return g.pick(quoted(g.text()), quoted(g.text()), "device.driver", g.attribute("s"), g.attribute("s"), `'a'`, `r"\d+"`, `"a\u00e9\n"`, `"""x"y"""`)
	case "quantity":
		return g.pick(`quantity(`+quoted(g.amount())+`)`, g.domain("capacity")+fmt.Sprintf(".q%d", g.IntN(3)))
	case "semver":
		return g.pick(`semver(`+quoted(g.version())+`)`, g.attribute("v"), `semver("v1.2", true)`, `semver("01.2.3", true)`)
	case "ints":
		return g.pick("[]", "[1]", "[1, 2, 3]", "[3, 1, 2]", "[0, 80]", "[1, 1]")
	case "bools":
		return g.pick("[true]", "[true, false]", "[]")
	case "quantities":
		return g.pick(`[quantity("1")]`, `[quantity("1Gi"), quantity("1.5Gi")]`, "[]")
	case "strings":
		return g.pick("[]", `["a"]`, `["a", "b", "c"]`, `["A100", "abc"]`, `["a.io", "b.io"]`, `[device.driver]`)
	case "optint":
		return g.pick("optional.none()", "optional.of(1)", g.domain("attributes")+".?i1", g.domain("attributes")+`[?"i2"]`)
	case "optstring":
		return g.pick("optional.none()", `optional.of("a")`, g.domain("attributes")+".?s1", `device.attributes[?"a.io"].s2`, `device.?driver`)
	case "optsemver":
		return g.pick("optional.none()", `optional.of(semver("1.2.3"))`, g.domain("attributes")+".?v1")
	case "optquantity":
		return g.pick("optional.none()", `optional.of(quantity("1Gi"))`, g.domain("capacity")+".?q1")
	case "dyn":
		return g.attribute(g.pick("b", "i", "s", "v", "x"))
	case "map":
		return g.pick(g.domain("attributes"), `{"a": 1}`, `{}`, `{"a": true, "b": false}`, `{1: "x", 2: "y"}`, "device.attributes", "device.capacity", g.domain("capacity"), "device")
	default:
		return "null"
	}
}

func (g *generator) node(kind string) string {
	name := fmt.Sprintf("v%d", len(g.variables))
	list, item := "ints", "int"
	switch g.IntN(4) {
	case 0:
		list, item = "strings", "string"
	case 1:
		list, item = "map", "string"
	}
	any := func() string { return g.make(kinds[g.IntN(len(kinds))]) }
	f := func(format string, args ...any2) string { return fmt.Sprintf(format, args...) }
	m := g.make
	switch kind {
	case "bool":
		switch g.IntN(41 + g.IntN(4)/3) {
		case 0, 1, 2, 3, 4:
			return f("(%s && %s)", m("bool"), m("bool"))
		case 5, 6, 7, 8:
			return f("(%s || %s)", m("bool"), m("bool"))
		case 9:
			return "!" + m("bool")
		case 10, 11, 12:
			k := kinds[g.IntN(len(kinds))]
			return f("%s %s %s", m(k), g.pick("==", "==", "!="), m(k))
		case 13, 14:
			k := g.pick("int", "string", "double", "uint", "bool", "dyn", "int", "string")
			return f("%s %s %s", m(k), g.pick("<", "<=", ">", ">="), m(k))
		case 15:
			return f("%s %s %s", m(g.pick("int", "double", "uint")), g.pick("<", "<=", ">", ">=", "=="), m(g.pick("int", "double", "uint")))
		case 16, 17:
			return f("%s in %s", m("int"), m("ints"))
		case 18, 19:
			return f("%s in %s", m("string"), m("strings"))
		case 20:
			return f("%s in %s", m(g.pick("string", "dyn", "int", "double", "uint")), m(g.pick("map", "strings", "ints")))
		case 21, 22:
			return f("%s.%s(%s)", m("string"), g.pick("startsWith", "endsWith", "contains"), m("string"))
		case 23:
			return f("%s.matches(%s)", m("string"), g.pick(`"^a.*"`, `"[0-9]+"`, `"a|b"`, `r"\d"`, `""`, `"(?i)A"`, `"a("`, m("string")))
		case 24, 25, 26:
			return f("%s.%s(%s)", m("quantity"), g.pick("isGreaterThan", "isLessThan"), m("quantity"))
		case 27, 28:
			return f("%s.%s(%s)", m("semver"), g.pick("isGreaterThan", "isLessThan"), m("semver"))
		case 29:
			return f("%s.hasValue()", m(g.pick("optint", "optstring", "optsemver", "optquantity")))
		case 30, 31, 32:
			return f("%s.%s(%s, %s)", m(list), g.pick("all", "exists", "exists_one"), name, g.with("bool", variable{name, item}))
		case 33, 34:
			return f("has(%s)", g.pick(g.domain("attributes")+".b1", g.domain("attributes")+".i2", g.domain("capacity")+".q1", "device.driver", "device.attributes.x",
				"("+m("bool")+" ? "+g.domain("attributes")+" : "+g.domain("attributes")+").s1", m("map")+".a", m("dyn")+".x"))
		case 35:
			k := g.pick("ints", "strings")
			return f("sets.%s(%s, %s)", g.pick("contains", "intersects", "equivalent"), m(k), m(k))
		case 36:
			return f("%s.isInteger()", m("quantity"))
		case 37:
			return f("%s(%s)", g.pick("isQuantity", "isSemver"), m("string"))
		case 38:
			return f("isSemver(%s, %s)", m("string"), m("bool"))
		case 39:
			return f("%s.isSorted()", m(g.pick("ints", "strings")))
		case 40:
			return f("%s.includes(%s)", m(g.pick("dyn", "ints", "strings")), any())
		default:
			return f("%s == %s", any(), any())
		}
	case "int":
		switch g.IntN(18) {
		case 0, 1, 2, 3:
			return f("(%s %s %s)", m("int"), g.pick("+", "-", "*", "/", "%"), m("int"))
		case 4:
			return "-" + m("int")
		case 5, 6:
			return f("size(%s)", m(g.pick("string", "strings", "ints", "map", "dyn")))
		case 7:
			return f("%s.size()", m(g.pick("string", "strings", "ints", "map")))
		case 8:
			return f("%s.compareTo(%s)", m("quantity"), m("quantity"))
		case 9:
			return f("%s.compareTo(%s)", m("semver"), m("semver"))
		case 10:
			return f("%s.%s()", m("semver"), g.pick("major", "minor", "patch"))
		case 11:
			return f("sign(%s)", m("quantity"))
		case 12:
			return f("%s.asInteger()", m("quantity"))
		case 13:
			return f("%s.%s(%s)", m("string"), g.pick("indexOf", "lastIndexOf"), m("string"))
		case 14:
			return f("%s.%s(%s, %s)", m("string"), g.pick("indexOf", "lastIndexOf"), m("string"), m("int"))
		case 15:
			return f("%s.%s()", m("ints"), g.pick("sum", "min", "max"))
		case 16:
			return f("%s.%s(%s)", m("ints"), g.pick("indexOf", "lastIndexOf"), m("int"))
		default:
			return f("%s + %s", m("dyn"), m("int"))
		}
	case "uint":
		return f("(%s %s %s)", m("uint"), g.pick("+", "-", "*", "/", "%"), m("uint"))
	case "double":
		switch g.IntN(4) {
		case 0:
			return f("%s.asApproximateFloat()", m("quantity"))
		case 1:
			return f("double(%s)", m(g.pick("int", "uint", "double")))
		default:
			return f("(%s %s %s)", m("double"), g.pick("+", "-", "*", "/"), m("double"))
		}
	case "string":
		switch g.IntN(12) {
		case 0, 1:
			return f("(%s + %s)", m("string"), m(g.pick("string", "string", "dyn")))
		case 2:
			return f("%s.%s()", m("string"), g.pick("lowerAscii", "upperAscii", "trim"))
		case 3:
			return f("%s.replace(%s, %s)", m("string"), m("string"), m("string"))
		case 4:
			return f("%s.replace(%s, %s, %s)", m("string"), m("string"), m("string"), m("int"))
		case 5:
			return f("%s.substring(%s)", m("string"), m("int"))
		case 6:
			return f("%s.substring(%s, %s)", m("string"), m("int"), m("int"))
		case 7:
			return f("%s.charAt(%s)", m("string"), m("int"))
		case 8:
			return f("%s.join(%s)", m("strings"), g.pick("", m("string")))
		case 9:
			return f("%s.%s()", m("strings"), g.pick("min", "max"))
		default:
			return g.leaf("string")
		}
	case "quantity":
		switch g.IntN(4) {
		case 0:
			return f("%s.%s(%s)", m("quantity"), g.pick("add", "sub"), m(g.pick("quantity", "int")))
		case 1:
			return f("quantity(%s)", m("string"))
		default:
			return g.leaf(kind)
		}
	case "semver":
		switch g.IntN(5) {
		case 0:
			return f("semver(%s)", m("string"))
		case 1:
			return f("semver(%s, %s)", m("string"), m("bool"))
		default:
			return g.leaf(kind)
		}
	case "ints", "strings", "bools", "quantities":
		element := map[string]string{"ints": "int", "strings": "string", "bools": "bool", "quantities": "quantity"}[kind]
		switch g.IntN(9) {
		case 0, 1:
			return f("[%s, %s]", m(element), m(element))
		case 2:
			return f("(%s + %s)", m(kind), m(kind))
		case 3, 4:
			return f("%s.map(%s, %s)", m(list), name, g.with(element, variable{name, item}))
		case 5:
			return f("%s.filter(%s, %s)", m(kind), name, g.with("bool", variable{name, element}))
		case 6:
			return f("%s.map(%s, %s, %s)", m(list), name, g.with("bool", variable{name, item}), g.with(element, variable{name, item}))
		case 7:
			if kind == "strings" {
				return f("%s.split(%s%s)", m("string"), m("string"), g.pick("", ", "+m("int")))
			}
			if kind != "bools" && kind != "quantities" {
				return f("[?%s, %s]", m("opt"+element), m(element))
			}
			return g.leaf(kind)
		default:
			return g.leaf(kind)
		}
	case "optint", "optstring", "optsemver", "optquantity":
		element := kind[3:]
		switch g.IntN(8) {
		case 0:
			return f("%s.or(%s)", m(kind), m(kind))
		case 1:
			return f("optional.of(%s)", m(element))
		case 2:
			return f("%s.%s(%s, %s)", m(kind), "optMap", name, g.with(element, variable{name, element}))
		case 3:
			return f("%s.optFlatMap(%s, %s)", m(kind), name, g.with(kind, variable{name, element}))
		case 4:
			if element == "int" || element == "string" {
				return f("%s%s", m(element+"s"), g.pick(".first()", ".last()", "[?"+m("int")+"]"))
			}
			return f("optional.ofNonZeroValue(%s)", m(element))
		case 5:
			return f("optional.ofNonZeroValue(%s)", m(element))
		default:
			return g.leaf(kind)
		}
	case "map":
		switch g.IntN(4) {
		case 0:
			k := g.pick("int", "string", "bool")
			return f("{%s: %s, %s: %s}", m(k), m("int"), m(k), m("int"))
		case 1:
			return f("{?%s: %s}", m("string"), m("optint"))
		default:
			return g.leaf(kind)
		}
	case "dyn":
		return g.leaf(kind)
	default:
		return g.leaf(kind)
	}
}

type any2 = any

// Package ranges has the type Range, for programs that write objects for ebb without linking it.
package ranges

// A Range is the position of one object in a buffer of many: data[Begin:End].
type Range struct{ Begin, End uint }

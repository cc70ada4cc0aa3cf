package evalkit

import "github.com/seed792a4543/assay/evalkit/measure"

// Value is a number or n/a. The zero Value is n/a; JSON shows it as null.
type Value = measure.Value

// Num returns the Value that holds v.
func Num(v float64) Value { return Value{V: v, OK: true} }

// Package readers shows that outside engines read Tidemark's tables: DuckDB and PyIceberg, through the REST face of the built-in
// catalog, against files written by package parquet.
//
// # Guarantees
//
// A table with every type a topic can produce, nulls at every level and a null partition value reads the same in both engines.
//
// # Not its job
//
// Brokers: integration/cluster; the catalog's own rules: catalog/builtin.
//
// # Concurrency
//
// Tests only.
//
// # Entry points
//
// The tests; check.py is what runs inside the engines. The Python environment is made by "make tools".
package readers

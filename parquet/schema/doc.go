// Package schema is the logical schema of a table: types, field ids, system columns.
//
// # Guarantees
//
// A schema is immutable once built. Field ids are unique in it and, after a table was created, are those of the loaded table:
// catalogs may assign fresh ids at creation, and data files carry the loaded ones.
//
// # Not its job
//
// Fetching schemas; reading values (parquet/payload); writing them (parquet).
//
// # Concurrency
//
// Values are read-only after construction and safe to share.
//
// # Entry points
//
// [Schema], [Field], [Type], [System], [Shapes].
package schema

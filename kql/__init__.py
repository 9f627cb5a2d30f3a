"""The query language: a compiler of a subset of KQL to SQL, checked against types.

Of Segplane it imports `segments` only: meta checks projections with it, readers
translate queries with it.

    text --> tokens --> syntax tree --> typed relation --> pushdown --> SQL of one engine
             syntax/    syntax/         operators/,        pushdown/    sql/: DuckDB, Spark, Trino
             recursive descent          functions/         time bounds, terms, prefilters
                                           ^
                                        catalog/: operators and functions with their signatures,
                                        from which parser, types and docs/kql.md are made

- Every refusal has a place in the text and says what to do (`errors`).
- Types are checked before a query runs, so all engines give the same columns. A function is a row
  of the catalog with a pattern for each engine; a rule serves types that no signature can say.
- Predicate pushdown is conservative: a bound that is not certain skips nothing.
"""

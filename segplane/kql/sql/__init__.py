"""Translation of the query language to SQL, by its public name."""

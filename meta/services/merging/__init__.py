"""JanitorService, MergeTaskService, and the calls that explain and release merges."""

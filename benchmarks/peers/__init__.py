"""The contenders that benchmarks compare us with, and how a round of each is run."""

"""Execution of tasks on Spark: from baby segments to written files."""

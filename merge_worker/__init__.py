"""The merge worker: compacts merged segments in Spark jobs."""

"""The nursery: turns baby segments into merged segments in Spark jobs."""

"""Commands that operate the pipeline: streams, tasks, workers, deletion."""

"""State of the installation for people: facts of meta, judged by segplane.health.

SharedReads --> streams, pipeline, merges, deletion, dataset --> templates/operate
"""

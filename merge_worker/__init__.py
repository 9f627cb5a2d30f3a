"""The merge worker: compacts merged segments."""

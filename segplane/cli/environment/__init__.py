"""The surroundings of a command: profiles, settings of processes, completion by shells."""

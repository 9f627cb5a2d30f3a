"""StatusService: the processes of the installation."""

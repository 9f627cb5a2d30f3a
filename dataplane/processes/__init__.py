"""Child processes: started, supervised, tied to their parent."""

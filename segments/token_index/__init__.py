"""Token indexes of segments: which terms their texts may have, to leave out whole files."""

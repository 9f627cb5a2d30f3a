"""Calls about damage: losses, parked streams, repaired segments, the quarantine."""

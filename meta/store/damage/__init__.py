"""Damage and its ways out: losses, replays, parked streams, repaired segments."""

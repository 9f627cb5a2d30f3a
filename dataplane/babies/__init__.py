"""Reading baby segments: fetched, checked, routed and decoded; by nurseries and fresh readers."""

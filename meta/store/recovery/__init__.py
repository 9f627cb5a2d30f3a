"""Recovery of a lost database: a catalog filled from the bucket."""

"""Commands that read records, and find the segments that have them."""

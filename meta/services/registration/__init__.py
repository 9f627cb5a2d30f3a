"""NurseryService and bulk registration: merged segments become visible and offsets move."""

"""Text that people type and see: times, aligned tables, suggestions."""

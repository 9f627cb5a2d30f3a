"""Columns of a segment beside and behind the format's: promoted, automatic, stored forms."""

"""Commands that check an installation and repair it."""

"""Resources: notes, labels and contexts of what the catalog holds, in one form for all kinds."""

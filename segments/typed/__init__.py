"""The check of records against the columns of the schema that their dataset is bound to."""

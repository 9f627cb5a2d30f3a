"""Registration of merged segments, with conservation of records."""

"""`segplane demo`: end-to-end run over real records, checked against a log of its requests."""

RECORD_ID = "segplane.demo.id"

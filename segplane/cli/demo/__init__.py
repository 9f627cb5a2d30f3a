"""`segplane demo`: end-to-end run over real records, checked against a log of what was sent."""

RECORD_ID = "segplane.demo.id"

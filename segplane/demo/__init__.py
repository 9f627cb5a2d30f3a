"""`segplane demo`: real records on their whole way, with a proof that none is lost or doubled."""

RECORD_ID = "segplane.demo.id"

"""Generated from protos/segments/v1 by `make gen`; never edited."""

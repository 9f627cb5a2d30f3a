"""Generated from protos/meta/v1 by `make gen`; never edited."""

"""The servers: OTLP over gRPC and HTTP, records over HTTP."""

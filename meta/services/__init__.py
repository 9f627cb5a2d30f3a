"""The ten gRPC services, a package for each noun: validate, convert, call the store."""

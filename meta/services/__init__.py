"""The nine gRPC services: validate, convert, call the store, convert back."""

"""The gRPC services, a package for each noun. Service layer: no SQL, no transaction of another.

    request --> validate --> values --> transaction: store functions --> values --> reply
                InvalidArgument         one a call, or one for a batch (`meta.commits`)

- `messages` converts between protobuf and the values of the store, for all services.
- A handler that only reads runs on one snapshot. One that writes runs again after a conflict, so it
  changes nothing outside of its transaction.
"""

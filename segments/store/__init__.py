"""Object stores behind one interface: folders, S3, Google Cloud Storage, Azure Blob Storage.

    open --> SeveralStores --> bucket --> requests of a protocol (s3, cloud)     put if absent,
             by the key's      |          retry with jitter until a deadline     range reads,
             store             +-------> folder: complete before its name exists listing in order

- Writes are conditional: compare-and-set on the absence of a key. `probe` proves that a store
  refuses a second write before a process uses it.
- An object that is read whole is compared with the checksum that was put with it. An error says
  whether the object, the store or the credentials are at fault.
"""

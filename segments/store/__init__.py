"""Object stores: folders and S3 buckets behind one interface."""

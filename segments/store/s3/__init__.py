"""Object store in an S3 bucket."""

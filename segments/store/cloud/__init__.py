"""Objects in Google Cloud Storage and Azure Blob Storage."""

"""CatalogService, and the calls about settings of datasets."""

"""Views of the catalog, opened at one version."""

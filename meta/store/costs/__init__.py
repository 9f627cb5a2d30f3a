"""Ledger of costs: amounts by tenant, dataset, day and kind."""

"""Segplane's control plane: the contract, its client and its server. Imports nothing."""

"""Logins of people: taken from an issuer or pasted, saved for each server, renewed in time."""

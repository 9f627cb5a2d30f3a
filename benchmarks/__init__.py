"""Ratios against something named, measured in the same run; `make bench` runs them all."""

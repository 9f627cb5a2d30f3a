"""What benchmarks measure with: servers, loads, data, timing, results."""

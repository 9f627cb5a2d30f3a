"""Tools of the benchmarks: servers, loads, data, timing, results."""

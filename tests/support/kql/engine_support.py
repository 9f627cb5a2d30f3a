"""Availability of functions and operators on each engine; a test writes every case."""

from kql.sql.engines import EngineName

# Functions and operators of which Trino has no exact counterpart, or none that is written yet.
_NOT_ON_TRINO = frozenset(
    [
        *("exponential_histogram_quantile", "histogram_quantile", "merge_buckets", "rate"),
        *("array_concat", "array_iff", "array_iif", "array_index_of", "array_reverse"),
        *("array_rotate_left", "array_rotate_right", "array_shift_left", "array_shift_right"),
        *("array_slice", "array_sort_asc", "array_sort_desc", "array_split", "array_sum"),
        *("bag_has_key", "bag_keys", "bag_merge", "bag_pack", "bag_remove_keys", "bag_set_key"),
        *("base64_decode_tostring", "endofmonth", "endofyear", "extract_all", "make_bag"),
        *("make_bag_if", "make_list_with_nulls", "mv-expand", "pack", "pack_all", "pack_array"),
        *("pack_dictionary", "parse_csv", "parse_path", "parse_url", "parse_urlquery"),
        *("percentile", "percentiles", "percentiles_array", "repeat", "series_abs"),
        *("series_add", "series_ceiling", "series_cos", "series_divide", "series_dot_product"),
        *("series_equals", "series_exp", "series_fill_backward", "series_fill_const"),
        *("series_fill_forward", "series_fill_linear", "series_floor", "series_greater"),
        *("series_greater_equals", "series_less", "series_less_equals", "series_log"),
        *("series_magnitude", "series_multiply", "series_not_equals", "series_pow"),
        *("series_product", "series_sign", "series_sin", "series_stats_dynamic"),
        *("series_subtract", "series_sum", "series_tan", "set_difference", "set_has_element"),
        *("set_intersect", "set_union", "strcat_array", "url_decode", "url_encode"),
        *("url_encode_component",),
    ]
)
UNAVAILABLE: dict[EngineName, frozenset[str]] = {
    "duckdb": frozenset(),
    "spark": frozenset(),
    "trino": _NOT_ON_TRINO,
}
_SHOWN: dict[EngineName, str] = {"duckdb": "DuckDB", "spark": "Spark", "trino": "Trino"}


def engines_of(name: str) -> str:
    """Return the engines on which a function or an operator is available, for people."""
    return ", ".join(shown for engine, shown in _SHOWN.items() if name not in UNAVAILABLE[engine])

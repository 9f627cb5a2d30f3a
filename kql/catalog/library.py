"""Further functions of the catalog, by family; `kql.functions.rules` has their rules."""

from kql.catalog.signatures import Function, aggregate, ruled, scalar, taking

_REAL = "real -> real"
_LONGS = "long long -> long"
NUMBERS = (
    scalar("sign", "-1, 0 or 1", "real -> real: sign"),
    scalar("ceiling", "The least whole number that is not below", "long -> long: same", _REAL),
    scalar("exp2", "2 to the power", _REAL),
    scalar("exp10", "10 to the power", _REAL),
    scalar("sin", "Sine of radians", _REAL),
    scalar("cos", "Cosine", _REAL),
    scalar("tan", "Tangent", _REAL),
    scalar("cot", "Cotangent", _REAL),
    scalar("asin", "Angle of a sine; null outside of -1 to 1", _REAL),
    scalar("acos", "Angle of a cosine; null outside of -1 to 1", _REAL),
    scalar("atan", "Angle of a tangent", _REAL),
    scalar("atan2", "atan2(y, x): the angle of a point", "real real -> real"),
    scalar("degrees", "Degrees of radians", _REAL),
    scalar("radians", "Radians of degrees", _REAL),
    scalar("pi", "The number pi", "-> real"),
    scalar("isinf", "Infinite, of either sign", "real -> bool"),
    scalar("isfinite", "Neither infinite nor NaN nor null", "real -> bool"),
    scalar("binary_and", "Bitwise AND", _LONGS),
    scalar("binary_or", "Bitwise OR", _LONGS),
    scalar("binary_xor", "Bitwise XOR", _LONGS),
    scalar("binary_not", "Bits turned", "long -> long"),
    scalar("binary_shift_left", "Bits moved up, by the count modulo 64; null below zero", _LONGS),
    scalar("binary_shift_right", "Bits moved down; the sign stays", _LONGS),
    ruled("max_of", "The greatest of 2 to 64 values; null only where all are", "extreme_of", "any any...64"),
    ruled("min_of", "The least of them", "extreme_of", "any any...64"),
    ruled("bin_at", "bin_at(value, size, point): rounds down to a bin that begins at the point", "bin_at", "any any any"),
    ruled("column_ifexists", "column_ifexists('name', value): a column, or the value where there is none", "column_ifexists", "any any"),
    ruled("gettype", "The type; of a dynamic value that of its JSON", "gettype", "any"),
)  # fmt: skip
TEXTS = (
    ruled("indexof", "indexof(text, lookup, start, length): the first place from 0 on, or -1", "indexof", "text text any? any? any?"),
    ruled("indexof_regex", "The same of a regular expression", "indexof", "text any any? any? any?"),
    ruled("countof", "countof(text, search, 'normal' or 'regex'): matches; of texts also those that overlap", "countof", "text any any?"),
    ruled("strrep", "strrep(value, count, delimiter): repeated up to 1,024 times; empty beyond 1 MiB", "strrep", "text any text?"),
    taking("reverse", "The characters from the last to the first", "text -> string"),
    taking("strcmp", "-1, 0 or 1: the order of two texts by code points", "text text -> long"),
    ruled("translate", "translate(search, replacement, text): each character by the one at its place", "translate", "any any text"),
    ruled("replace_strings", "replace_strings(text, dynamic([...]), dynamic([...])): earlier ones first, none twice", "replace_strings", "text any any"),
    ruled("tohex", "tohex(number, digits): hexadecimal", "tohex", "any any?"),
    scalar("string_size", "Length in bytes of UTF-8", "string -> long"),
    taking("base64_encode_tostring", "A text's UTF-8 as base64", "string -> string"),
    taking("base64_decode_tostring", "The text of base64; empty if it is invalid", "string -> string"),
    taking("url_decode", "A text without %xx and +", "string -> string"),
    taking("url_encode", "A text with all but letters, digits and - _ . ! * ( ) as %xx, blanks as +", "string -> string"),
    taking("url_encode_component", "The same, blanks as %20", "string -> string"),
    taking("hash_md5", "The digest of a text's UTF-8, hexadecimal", "string -> string"),
    taking("hash_sha1", "The same by SHA-1", "string -> string"),
    taking("hash_sha256", "The same by SHA-256", "string -> string"),
)  # fmt: skip
TIMES = (
    ruled("startofday", "The midnight before (UTC), that many days later", "startof", "time whole?"),
    ruled("startofweek", "The Sunday before, that many weeks later", "startof", "time whole?"),
    ruled("startofmonth", "The first of the month, that many months later", "startof", "time whole?"),
    ruled("startofyear", "The first of January, that many years later", "startof", "time whole?"),
    ruled("endofday", "The last microsecond of the day, that many days later", "endof", "time whole?"),
    ruled("endofweek", "The last of the Saturday", "endof", "time whole?"),
    ruled("endofmonth", "The last of the month", "endof", "time whole?"),
    ruled("endofyear", "The last of the year", "endof", "time whole?"),
    ruled("datetime_add", "datetime_add('month', count, time): later by calendar months or by a unit", "datetime_add", "any whole time"),
    ruled("datetime_part", "datetime_part('quarter', time): a part as an int", "datetime_part", "any time"),
    scalar("week_of_year", "The week of ISO 8601", "datetime -> int"),
    ruled("make_datetime", "make_datetime(year, month, day, hour, minute, second); null if there is none", "make_datetime"),
    ruled("make_timespan", "make_timespan(days, hours, minutes, seconds); the first and last may be omitted", "make_timespan", "any...4"),
    *(
        ruled(f"unixtime_{unit}_todatetime", f"The time that many {unit} after 1970", "unixtime", "any")
        for unit in ("seconds", "milliseconds", "microseconds", "nanoseconds")
    ),
    ruled("format_timespan", "format_timespan(value, 'd.hh:mm:ss.fff')", "format_timespan", "as_timespan any"),
    ruled("totimespan", "A timespan, or a text such as -1.02:03:04.5; else null", "to timespan", "any"),
)  # fmt: skip
ARRAYS = (
    ruled("pack_array", "An array of values", "pack_array", "json...128"),
    ruled("bag_pack", "bag_pack('key', value, ...): a bag", "bag_pack", "any any...256"),
    ruled("pack_dictionary", "The same as bag_pack", "bag_pack", "any any...256"),
    ruled("pack_all", "A bag of all columns", "bag_pack", "any any...256"),
    ruled("pack", "The same as bag_pack", "bag_pack", "any any...256"),
    ruled("array_concat", "The elements of all arrays", "folded", "array array...64"),
    taking("array_slice", "array_slice(array, first, last): both included, below 0 from the end", "array whole whole -> dynamic"),
    taking("array_sum", "Sum of numbers; null if an element is none", "array -> real"),
    taking("array_reverse", "The elements from the last to the first", "array -> dynamic"),
    taking("array_sort_asc", "Numbers, then texts, nulls last", "array -> dynamic"),
    taking("array_sort_desc", "The greatest first, nulls last", "array -> dynamic"),
    ruled("array_index_of", "The first place of a value, or -1", "array_index_of", "array any"),
    scalar("range", "range(first, last, step): an array of whole numbers, at most 1,048,576 of them; null beyond", "long long -> dynamic: range_by_one", "long long long -> dynamic: range_by"),
    scalar("histogram_quantile", "histogram_quantile(0.99, bucket_counts, explicit_bounds): a quantile of a histogram, linear within a bucket, as in Prometheus", "real dynamic dynamic -> real"),
    scalar("exponential_histogram_quantile", "exponential_histogram_quantile(0.99, scale, zero_count, zero_threshold, positive_offset, positive_bucket_counts, negative_offset, negative_bucket_counts): the same of an exponential histogram, exponential within a bucket", "real long long real long dynamic long dynamic -> real"),
    aggregate("merge_buckets", "The sums of each bucket of histograms with the same bounds", "dynamic -> dynamic"),
    aggregate("rate", "rate(value, start_timestamp, timestamp, flags): the increase of a counter per second, from the first point of a series to its last; it starts again where the start changes, as of each delta, or the value falls. Points that have no recorded value by their flags do not count; over the columns of a dataset flags may be omitted", "real datetime datetime -> real", "real datetime datetime long -> real"),
    ruled("set_has_element", "Whether an array has a value", "array_index_of", "array any"),
    taking("array_iff", "array_iff(conditions, then, else), element by element", "array json json -> dynamic"),
    taking("array_iif", "The same as array_iff", "array json json -> dynamic: array_iff"),
    ruled("array_rotate_left", "array_rotate_left(array, count)", "array_turn", "array whole"),
    ruled("array_rotate_right", "The same to the right", "array_turn", "array whole"),
    ruled("array_shift_left", "array_shift_left(array, count, fill): null if fill is omitted", "array_turn", "array whole json?"),
    ruled("array_shift_right", "The same to the right", "array_turn", "array whole json?"),
    ruled("array_split", "array_split(array, place or dynamic([places])): an array of the parts", "array_split", "array any"),
    ruled("repeat", "repeat(value, count): an array, of at most 10,000; null beyond 1 MiB", "repeat", "json any"),
    taking("strcat_array", "strcat_array(array, delimiter)", "array text -> string"),
    ruled("set_union", "Different values of all arrays, in the order of their JSON", "folded", "array array...64"),
    ruled("set_intersect", "Those that all arrays have", "folded", "array array...64"),
    ruled("set_difference", "Those of the first array that no other has", "folded", "array array...64"),
    taking("bag_keys", "The keys of a bag", "array -> dynamic"),
    taking("bag_has_key", "Whether a bag has a key", "array text -> bool"),
    ruled("bag_merge", "The members of all bags; of equal keys the first", "folded", "array array...64"),
    taking("bag_remove_keys", "bag_remove_keys(bag, dynamic(['key', ...]))", "array array -> dynamic"),
    ruled("bag_set_key", "bag_set_key(bag, 'key', value)", "bag_set_key", "array any any"),
    ruled("extract_all", "extract_all(regex, dynamic([groups]), text): an array of matches; null without one", "extract_all", "any any any?"),
    taking("parse_csv", "The values of the first record of CSV", "text -> dynamic"),
    ruled("parse_url", "The parts of a URL, a bag", "parse_text", "text"),
    ruled("parse_urlquery", "The parameters of a query, a bag", "parse_text", "text"),
    ruled("parse_path", "The parts of a path, a bag", "parse_text", "text"),
)  # fmt: skip
NETWORKS = (
    ruled("parse_ipv4", "The number of an address, of its network if it has a /prefix; null if it is invalid", "parse_ipv4", "any"),
    ruled("format_ipv4", "format_ipv4(number or address, prefix): an address as a text", "format_ipv4", "any any?"),
    ruled("ipv4_netmask_suffix", "The prefix behind /, else 32", "ipv4_netmask_suffix", "any"),
    ruled("ipv4_compare", "ipv4_compare(a, b, prefix): -1, 0 or 1 by the shortest prefix", "ipv4_compare", "any any any?"),
    ruled("ipv4_is_match", "ipv4_is_match(a, b, prefix): whether both are in one network", "ipv4_is_match", "any any any?"),
    ruled("ipv4_is_in_range", "ipv4_is_in_range(address, '10.0.0.0/8')", "ipv4_is_in_range", "any any"),
    ruled("ipv4_is_in_any_range", "The same of up to 64 ranges, or of a dynamic array", "ipv4_is_in_any_range", "any any...65"),
    ruled("ipv4_is_private", "Whether an address is in a private range", "ipv4_is_private", "any"),
)  # fmt: skip
SERIES = (
    *(
        ruled(f"series_{name}", f"Two series, or a series and a number, by {sign}", "series_pairs", "any any")
        for name, sign in (
            ("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("pow", "pow"),
            ("greater", ">"), ("greater_equals", ">="), ("less", "<"), ("less_equals", "<="),
            ("equals", "=="), ("not_equals", "!="),
        )
    ),
    *(
        taking(f"series_{name}", f"{name} of each element", "series -> dynamic")
        for name in ("abs", "sign", "floor", "ceiling", "exp", "log", "sin", "cos", "tan")
    ),
    taking("series_sum", "Sum of the elements", "series -> real: array_sum"),
    taking("series_product", "Product of the elements", "series -> real"),
    ruled("series_magnitude", "Square root of the sum of squares", "series_magnitude", "series"),
    ruled("series_dot_product", "Sum of the products of two series", "series_dot_product", "any any"),
    taking("series_stats_dynamic", "A bag: min, max, avg, stdev, variance and others", "series -> dynamic"),
    ruled("series_fill_const", "series_fill_const(series, number): in place of nulls", "series_fill_const", "series any"),
    taking("series_fill_forward", "In place of nulls the last number before; null of more than 10,000", "series -> dynamic"),
    taking("series_fill_backward", "In place of nulls the next number", "series -> dynamic"),
    taking("series_fill_linear", "In place of nulls what lies between; at the ends the nearest number", "series -> dynamic"),
)  # fmt: skip
_LONG = "int -> long: {0}", "long -> long: {0}"
AGGREGATES = (
    *(
        aggregate(f"binary_all_{name}", f"Bits by {name} over all values", *(s.format(f"binary_all_{name}") for s in _LONG))
        for name in ("and", "or", "xor")
    ),
    aggregate("stdevp", "Standard deviation of a population; 0 over nothing", "real -> real"),
    aggregate("variancep", "Variance of a population; 0 over nothing", "real -> real"),
    aggregate("variancepif", "The same, of the rows for which the condition is true", "real bool -> real"),
    aggregate("count_distinctif", "The same as dcountif", "any bool -> long: dcountif"),
    taking("make_list_with_nulls", "All values, an array in no order", "json -> dynamic: make_list_dynamic", is_aggregate=True),
    ruled("make_bag", "The members of all bags; of equal keys some", "make_bag", "series", is_aggregate=True),
    ruled("make_bag_if", "The same, of the rows for which the condition is true", "make_bag", "series any", is_aggregate=True),
    ruled("percentiles_array", "percentiles_array(value, 50, 95): an array", "percentiles_array", "any any...21", is_aggregate=True),
)  # fmt: skip
LIBRARY: tuple[Function, ...] = (*NUMBERS, *TEXTS, *TIMES, *ARRAYS, *NETWORKS, *SERIES, *AGGREGATES)

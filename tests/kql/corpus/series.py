"""Functions over series, and over IPv4 addresses."""

from typing import Any

from tests.kql.corpus.case import Case, scalar

_A, _B = "dynamic([1,2,4])", "dynamic([4,2,1])"
_GAPS = "dynamic([111,null,36,41,null,null,16,61,33,null,null])"
_STATS = "dynamic([23,46,23,87,4,8,3,75,2,56,13,75,32,16,29])"
_IPS = [
    ("192.168.1.0", "192.168.1.0"),
    ("192.168.1.1/24", "192.168.1.255"),
    ("192.168.1.1", "192.168.1.255/24"),
    ("192.168.1.1/30", "192.168.1.255/24"),
]


def _series(name: str, expression: str, value: Any, unsupported: str = "") -> Case:
    return scalar(name, expression, "dynamic", value, unsupported)


_RANGES = ", ".join(f'"10.{n}.0.0/16"' for n in range(64))
CASES: list[Case] = [
    Case("ipv4_is_in_any_range of 64 ranges", "Logs | where ipv4_is_in_any_range(ClientIp,"
         f" dynamic([{_RANGES}])) | count", {"Count": "long"}, [(2,)]),
    _series("series_add", f"series_add({_A}, {_B})", [5, 4, 5]),
    _series("series_subtract", f"series_subtract({_A}, {_B})", [-3, 0, 3]),
    _series("series_multiply", f"series_multiply({_A}, {_B})", [4, 4, 4]),
    _series("series_multiply by a number", f"series_multiply({_A}, 2)", [2, 4, 8]),
    _series("series_divide", f"series_divide({_A}, {_B})", [0.25, 1.0, 4.0]),
    _series("series_pow", "series_pow(dynamic([1,2,3,4]), dynamic([1,2,3,0.5]))", [1, 4, 27, 2]),
    _series("series_greater", f"series_greater({_A}, {_B})", [False, False, True]),
    _series("series_greater_equals", f"series_greater_equals({_A}, {_B})", [False, True, True]),
    _series("series_less", f"series_less({_A}, {_B})", [True, False, False]),
    _series("series_less_equals", f"series_less_equals({_A}, {_B})", [True, True, False]),
    _series("series_equals", f"series_equals({_A}, {_B})", [False, True, False]),
    _series("series_not_equals", f"series_not_equals({_A}, {_B})", [True, False, True]),
    _series("series_abs", "series_abs(dynamic([-6.5,0,8.2]))", [6.5, 0, 8.2]),
    _series("series_sign", "series_sign(dynamic([-6,0,8]))", [-1, 0, 1]),
    _series("series_floor", "series_floor(dynamic([-1.5,1,2.5]))", [-2.0, 1.0, 2.0]),
    _series("series_ceiling", "series_ceiling(dynamic([-1.5,1,2.5]))", [-1.0, 1.0, 3.0]),
    _series("series_exp", "series_exp(dynamic([1,2,3]))",
            [2.718281828459045, 7.38905609893065, 20.085536923187668]),
    _series("series_log", "series_log(dynamic([1,2,3]))",
            [0.0, 0.69314718055994530, 1.0986122886681098]),
    _series("series_sin", "series_sin(dynamic([-1,0,1]))",
            [-0.8414709848078965, 0.0, 0.8414709848078965]),
    _series("series_cos", "series_cos(dynamic([-1,0,1]))",
            [0.54030230586813976, 1.0, 0.54030230586813976]),
    _series("series_tan", "series_tan(dynamic([-1,0,1]))",
            [-1.5574077246549023, 0.0, 1.5574077246549023]),
    scalar("series_sum", "series_sum(dynamic([1,2,3,4]))", "real", 10.0),
    scalar("series_product", "series_product(dynamic([1,2,3,4]))", "real", 24.0),
    scalar("series_dot_product", f"series_dot_product({_A}, {_B})", "real", 12.0),
    scalar("series_dot_product of a number", f"series_dot_product({_A}, 2)", "real", 14.0),
    scalar("series_magnitude", "series_magnitude(dynamic([1,2,3,4]))", "real",
           5.477225575051661),
    _series("series_fill_const", f"series_fill_const({_GAPS}, -1)",
            [111, -1, 36, 41, -1, -1, 16, 61, 33, -1, -1]),
    _series("series_fill_forward", f"series_fill_forward({_GAPS})",
            [111, 111, 36, 41, 41, 41, 16, 61, 33, 33, 33]),
    _series("series_fill_forward before the first", "series_fill_forward(dynamic([null,36,null]))",
            [None, 36, 36]),
    _series("series_fill_backward", f"series_fill_backward({_GAPS})",
            [111, 36, 36, 41, 16, 16, 16, 61, 33, None, None]),
    _series("series_fill_linear", "series_fill_linear(dynamic([null,111.0,null,36.0,41.0,null,null,"
            "16.0,61.0,33.0,null,null]))",
            [111, 111, 73.5, 36, 41, 41 - 25 / 3, 41 - 50 / 3, 16, 61, 33, 33, 33]),
    _series("series_fill_linear of nulls", "series_fill_linear(dynamic([null,null]))", [0.0, 0.0]),
    _series("series_fill_linear of whole numbers", "series_fill_linear(dynamic([111,null,36]))",
            [111, 73, 36], "what is filled in is a real, also between whole numbers"),
    _series("series_stats_dynamic", f"series_stats_dynamic({_STATS})",
            {"min": 2, "min_idx": 8, "max": 87, "max_idx": 3, "avg": 32.8,
             "stdev": 28.503633853548269, "variance": 812.45714285714291, "sum": 492, "len": 15}),
    scalar("parse_ipv4", "parse_ipv4('192.168.1.1')", "long", 3232235777),
    scalar("parse_ipv4 of a network", "parse_ipv4('192.168.1.1/24')", "long", 3232235776),
    scalar("parse_ipv4 of two addresses", "parse_ipv4('255.255.255.255/31')", "long", 4294967294),
    scalar("parse_ipv4 of no address", "parse_ipv4('256.1.1.1')", "long", None),
    scalar("format_ipv4", "format_ipv4(3232236031)", "string", "192.168.1.255"),
    scalar("format_ipv4 of a prefix", "format_ipv4('192.168.1.255', 24)", "string", "192.168.1.0"),
    scalar("ipv4_netmask_suffix", "ipv4_netmask_suffix('10.1.2.3')", "long", 32),
    scalar("ipv4_netmask_suffix of 24", "ipv4_netmask_suffix('192.168.1.1/24')", "long", 24),
    *(scalar(f"ipv4_compare {a} {b}", f"ipv4_compare('{a}', '{b}')", "long", 0) for a, b in _IPS),
    *(scalar(f"ipv4_is_match {a} {b}", f"ipv4_is_match('{a}', '{b}')", "bool", True)
      for a, b in _IPS),
    scalar("ipv4_compare of 31 bits", "ipv4_compare('192.168.1.1', '192.168.1.0', 31)", "long", 0),
    scalar("ipv4_is_match of 24 bits", "ipv4_is_match('192.168.1.1', '192.168.1.255', 24)", "bool",
           True),
    scalar("ipv4_is_in_range of one", "ipv4_is_in_range('192.168.1.1', '192.168.1.1')", "bool",
           True),
    scalar("ipv4_is_in_range", "ipv4_is_in_range('192.168.1.1', '192.168.1.255/24')", "bool", True),
    scalar("ipv4_is_in_any_range", "ipv4_is_in_any_range('192.168.1.6', '192.168.1.1/24',"
           " '10.0.0.1/8', '127.1.0.1/16')", "bool", True),
    scalar("ipv4_is_in_any_range of an array", "ipv4_is_in_any_range('127.0.0.1',"
           " dynamic([\"127.0.0.1\", \"192.168.1.1\"]))", "bool", True),
    scalar("ipv4_is_private", "ipv4_is_private('10.1.2.3')", "bool", True),
    scalar("ipv4_is_private of a network", "ipv4_is_private('192.168.1.1/24')", "bool", True),
    scalar("ipv4_is_private of this host", "ipv4_is_private('127.0.0.1')", "bool", False),
    Case("addresses of a column", "Logs | distinct ClientIp | project ClientIp,"
         " n = parse_ipv4(ClientIp), p = ipv4_is_private(ClientIp),"
         " r = ipv4_is_in_range(ClientIp, '10.0.0.0/8'), c = ipv4_compare(ClientIp, '10.0.0.2'),"
         " f = format_ipv4(ClientIp, 24)",
         {"ClientIp": "string", "n": "long", "p": "bool", "r": "bool", "c": "long", "f": "string"},
         [("10.0.0.1", 167772161, True, True, -1, "10.0.0.0"),
          ("10.0.0.2", 167772162, True, True, 0, "10.0.0.0"),
          ("192.168.1.7", 3232235783, True, False, 1, "192.168.1.0"),
          ("8.8.8.8", 134744072, False, False, -1, "8.8.8.0"),
          ("", None, None, None, None, "")]),
]  # fmt: skip

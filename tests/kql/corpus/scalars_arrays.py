"""Functions over arrays and bags, and texts that are taken apart into them."""

from typing import Any

from tests.kql.corpus.case import Case, scalar

_FIVE = "dynamic([1,2,3,4,5])"
_WORDS = 'dynamic(["this", "is", "an", "example"])'
_ID = "82b8be2d-dfa7-4bd1-8f63-24ad26d31449"
_LETTERS = [["8", "2b8be2", "d"], ["d", "fa", "7"], ["4", "bd", "1"], ["8", "f6", "3"],
            ["2", "4ad26d3144", "9"]]  # fmt: skip
_BYTES = [_ID.replace("-", "")[n : n + 2] for n in range(0, 32, 2)]


def _path(scheme: str, root: str, folders: str, name: str, extension: str, stream: str) -> Any:
    return {
        "Scheme": scheme, "RootPath": root, "DirectoryPath": folders, "DirectoryName": "temp",
        "Filename": name, "Extension": extension, "AlternateDataStreamName": stream,
    }  # fmt: skip


_URL = {
    "Scheme": "scheme", "Host": "host", "Port": "1234", "Path": "this/is/a/path",
    "Username": "username", "Password": "password",
    "Query Parameters": {"k1": "v1", "k2": "v2"}, "Fragment": "fragment",
}  # fmt: skip


def _array(name: str, expression: str, value: Any, unsupported: str = "") -> Case:
    return scalar(name, expression, "dynamic", value, unsupported)


CASES: list[Case] = [
    _array("pack_array", "pack_array(1, 2, 4)", [1, 2, 4]),
    _array("pack_array of texts", "pack_array('a', tostring(2), 'c')", ["a", "2", "c"]),
    _array("bag_pack", "bag_pack('Level', 'Information', 'ProcessID', 1234, 'Data',"
           " bag_pack('url', 'www.bing.com'))",
           {"Level": "Information", "ProcessID": 1234, "Data": {"url": "www.bing.com"}}),
    _array("pack_dictionary", "pack_dictionary('key1', 1, 'key2', 2)", {"key1": 1, "key2": 2}),
    _array("pack", "pack('key1', 1, 'key2', 'x')", {"key1": 1, "key2": "x"}),
    _array("array_iif", "array_iif(dynamic([true,false]), 1, 2)", [1, 2]),
    Case("pack_all", "Spans | where SpanId == 'a' | project TraceId, SpanId, Duration, IsError"
         " | project x = pack_all()", {"x": "dynamic"},
         [({"TraceId": "t1", "SpanId": "a", "Duration": "00:00:00.1200000", "IsError": False},)]),
    Case("column_ifexists of a column", "Spans | where column_ifexists('IsError', false)"
         " | project x = column_ifexists('SpanId', '')", {"x": "string"}, [("d",), ("e",)]),
    Case("column_ifexists of no column", "Spans | where SpanId == 'a'"
         " | project x = column_ifexists('Missing', 'none')", {"x": "string"}, [("none",)]),
    Case("bag_pack of columns", "Logs | where Status == 402 | project x ="
         " bag_pack('Level', Level, 'Status', Status, 'Ms', DurationMs)", {"x": "dynamic"},
         [({"Level": "Error", "Status": 402, "Ms": 95.5},)]),
    scalar("array_length", f"array_length({_WORDS})", "long", 4),
    scalar("array_length of no array", "array_length(dynamic({\"a\": 1}))", "long", None),
    _array("array_concat", "array_concat(dynamic([1, 2]), dynamic([3, 4]))", [1, 2, 3, 4]),
    _array("array_concat of three", "array_concat(dynamic([1]), dynamic([2]), dynamic([\"a\"]))",
           [1, 2, "a"]),
    _array("array_slice", "array_slice(dynamic([1,2,3]), 1, 2)", [2, 3]),
    _array("array_slice to the last", f"array_slice({_FIVE}, 2, -1)", [3, 4, 5]),
    _array("array_slice from behind", f"array_slice({_FIVE}, -3, -2)", [3, 4]),
    scalar("array_sum", "array_sum(dynamic([1,2,3,4]))", "real", 10.0),
    scalar("array_sum of texts", "array_sum(dynamic([1,\"a\"]))", "real", None),
    scalar("array_index_of", f"array_index_of({_WORDS}, 'an')", "long", 2),
    scalar("array_index_of of a number", f"array_index_of({_FIVE}, 4)", "long", 3),
    scalar("array_index_of of what is absent", f"array_index_of({_WORDS}, 'no')", "long", -1),
    scalar("set_has_element", f"set_has_element({_WORDS}, 'example')", "bool", True),
    scalar("set_has_element of what is absent", f"set_has_element({_FIVE}, 9)", "bool", False),
    _array("array_sort_asc", "array_sort_asc(dynamic([null,\"blue\",\"yellow\",\"green\",null]))",
           ["blue", "green", "yellow", None, None]),
    _array("array_sort_asc of numbers", "array_sort_asc(dynamic([10, 9, 2.5, -1]))",
           [-1, 2.5, 9, 10]),
    _array("array_sort_desc", "array_sort_desc(dynamic([null,\"blue\",\"yellow\",\"green\",null]))",
           ["yellow", "green", "blue", None, None]),
    _array("array_reverse", f"array_reverse({_WORDS})", ["example", "an", "is", "this"]),
    _array("array_iff", "array_iff(dynamic([true,false,true]), dynamic([1,2,3]),"
           " dynamic([4,5,6]))", [1, 5, 3]),
    _array("array_iff of numbers", "array_iff(dynamic([1,0,50]), 'yes', 'no')",
           ["yes", "no", "yes"]),
    _array("array_iff of arrays that are shorter", "array_iff(dynamic([true,true,true]),"
           " dynamic([1,2]), dynamic([3,4]))", [1, 2, None]),
    _array("array_rotate_left", f"array_rotate_left({_FIVE}, 2)", [3, 4, 5, 1, 2]),
    _array("array_rotate_left below zero", f"array_rotate_left({_FIVE}, -2)", [4, 5, 1, 2, 3]),
    _array("array_rotate_right", f"array_rotate_right({_FIVE}, 2)", [4, 5, 1, 2, 3]),
    _array("array_shift_left", f"array_shift_left({_FIVE}, 2)", [3, 4, 5, None, None]),
    _array("array_shift_left below zero", f"array_shift_left({_FIVE}, -2, -1)",
           [-1, -1, 1, 2, 3]),
    _array("array_shift_left with a fill", f"array_shift_left({_FIVE}, 2, -1)",
           [3, 4, 5, -1, -1]),
    _array("array_shift_right", f"array_shift_right({_FIVE}, 2)", [None, None, 1, 2, 3]),
    _array("array_split at a place", f"array_split({_FIVE}, 2)", [[1, 2], [3, 4, 5]]),
    _array("array_split at places", f"array_split({_FIVE}, dynamic([1,3]))",
           [[1], [2, 3], [4, 5]]),
    *(
        _array(f"{name} of {arguments}", f"{name}({arguments})", None)
        for name, arguments in (
            ("array_concat", 'dynamic([1]), dynamic({"a": 1})'),
            ("array_concat", "dynamic(null), dynamic([1])"),
            ("set_union", 'dynamic({"a": 1}), dynamic([1])'),
            ("set_intersect", 'dynamic([1]), dynamic("x")'),
            ("set_difference", 'dynamic([1]), dynamic({"a": 1})'),
            ("array_sort_asc", 'dynamic({"a": 1})'), ("array_sort_desc", "dynamic(null)"),
            ("array_slice", 'dynamic("x"), 0, 1'), ("array_reverse", "dynamic(1)"),
            ("series_add", 'dynamic([1]), dynamic({"a": 1})'), ("series_abs", "dynamic(1)"),
            ("series_fill_forward", 'dynamic({"a": 1})'),
            ("series_greater", "dynamic(null), dynamic([1])"),
        )
    ),
    _array("repeat", "repeat(1, 3)", [1, 1, 1]),
    scalar("strcat_array", "strcat_array(dynamic([1, 2, 3]), '->')", "string", "1->2->3"),
    scalar("strcat_array with quotes", "strcat_array(dynamic([1, 2, 3]), '\"')", "string",
           '1"2"3'),
    _array("set_union of two", "array_sort_asc(set_union(dynamic([1,2,3]), dynamic([2,3,4])))",
           [1, 2, 3, 4]),
    _array("set_union of three",
           "array_sort_asc(set_union(dynamic([1,2]), dynamic([2,4]), dynamic([8])))", [1, 2, 4, 8]),
    _array("set_intersect", "array_sort_asc(set_intersect(dynamic([1,2,3,6,12]),"
           " dynamic([1,2,4,8]), dynamic([2])))", [2]),
    _array("set_difference", "set_difference(dynamic([4,2,3]), dynamic([2]), dynamic([3]))", [4]),
    _array("bag_keys", "array_sort_asc(bag_keys(dynamic({\"a\":\"b\", \"c\":123})))", ["a", "c"]),
    scalar("bag_has_key", "bag_has_key(dynamic({\"key1\":123,\"key2\":\"abc\"}), 'key1')", "bool",
           True),
    scalar("bag_has_key of what is absent", "bag_has_key(dynamic({\"key1\":123}), 'key3')", "bool",
           False),
    _array("bag_merge", "bag_merge(dynamic({\"A1\":12,\"B1\":2,\"C1\":3}),"
           " dynamic({\"A2\":81,\"B2\":82,\"A1\":1}))",
           {"A1": 12, "B1": 2, "C1": 3, "A2": 81, "B2": 82}),
    _array("bag_remove_keys", "bag_remove_keys(dynamic({\"key1\":123,\"key2\":\"abc\"}),"
           " dynamic([\"key1\",\"key4\"]))", {"key2": "abc"}),
    _array("bag_remove_keys by paths", "bag_remove_keys(dynamic({\"key1\":{\"a\":1,\"b\":2}}),"
           " dynamic([\"$.key1.a\"]))", {"key1": {"b": 2}}, "keys of the outer bag only"),
    _array("bag_set_key", "bag_set_key(dynamic({\"key1\": 1}), 'key2', 2)", {"key1": 1, "key2": 2}),
    _array("extract_all of a group", rf"extract_all(@'([\da-f]{{2}})', '{_ID}')", _BYTES),
    _array("extract_all of three groups", rf"extract_all(@'(\w)(\w+)(\w)', '{_ID}')", _LETTERS),
    _array("extract_all of two groups",
           rf"extract_all(@'(\w)(\w+)(\w)', dynamic([1,3]), '{_ID}')",
           [[row[0], row[2]] for row in _LETTERS]),
    _array("parse_csv", "parse_csv('aa,\"b,b,b\",cc,\"Escaping quotes: \"\"Title\"\"\","
           "\"line1\\nline2\"')",
           ["aa", "b,b,b", "cc", 'Escaping quotes: "Title"', "line1\nline2"]),
    _array("parse_csv of records", "parse_csv('record1,a,b,c\\nrecord2,x,y,z')",
           ["record1", "a", "b", "c"]),
    _array("parse_url", "parse_url('scheme://username:password@host:1234/this/is/a/path?k1=v1"
           "&k2=v2#fragment')", _URL),
    _array("parse_urlquery", "parse_urlquery('k1=v1&k2=v2&k3=v3')",
           {"Query Parameters": {"k1": "v1", "k2": "v2", "k3": "v3"}}),
    scalar("a parameter of parse_urlquery", "tostring(parse_urlquery("
           "'view=vs-2019&preserve-view=true')['Query Parameters']['preserve-view'])", "string",
           "true"),
    _array("parse_path of a drive", r"parse_path(@'C:\temp\file.txt')",
           _path("", "C:", r"C:\temp", "file.txt", "txt", "")),
    _array("parse_path of a relative one", r"parse_path(@'temp\file.txt')",
           _path("", "", "temp", "file.txt", "txt", "")),
    _array("parse_path of a stream", "parse_path('file://C:/temp/file.txt:some.exe')",
           _path("file", "C:", "C:/temp", "file.txt", "txt", "some.exe")),
    _array("parse_path of a share", r"parse_path(@'\\shared\users\temp\file.txt.gz')",
           _path("", "", r"\\shared\users\temp", "file.txt.gz", "gz", "")),
    _array("parse_path of Unix", "parse_path('/usr/lib/temp/file.txt')",
           _path("", "", "/usr/lib/temp", "file.txt", "txt", "")),
    _array("split at an index", "split('aaa_bbb_ccc', '_', 1)", ["bbb"]),
    scalar("a member of parse_json", "tolong(parse_json('{\"a\":{\"b\":[1,22]}}').a.b[1])", "long",
           22),
    Case("bag_keys of a column", "Logs | where Status == 201"
         " | mv-expand k = bag_keys(Properties) to typeof(string) | project k", {"k": "string"},
         [("user",), ("retries",), ("tags",)]),
]  # fmt: skip

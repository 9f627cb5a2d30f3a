"""Whole queries over the rows of `tests.support.kql.rows`, with what they give."""

from typing import Any

T, F, N = True, False, None

# Whole queries with their rows.
QUERIES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("rows | where i > 0 | project id", [(1,)]),
    ("rows | filter i != 7 | count", [(3,)]),
    ("rows | where not(b) | project id, b", [(3, F)]),
    ("rows | extend k = id * 2, m = k + 1 | project m | order by m asc", [(3,), (5,), (7,), (9,)]),
    ("rows | extend id = id + 1, q = id | where id == 2 | project q", [(1,)]),
    ("rows | project-keep i*, l | sort by id asc | take 1", [(1, 7, -7)]),
    ("rows | project-away b, d, w, g, j, r, s | project-reorder l | where id == 1", [(-7, 1, 7)]),
    ("rows | project id, s | project-rename key = id | where key == 3", [(3, "")]),
    ("rows | sort by r asc | project id, extra = r", [(2, N), (3, "NaN"), (4, float("-inf")),
                                                      (1, 2.5)]),
    ("rows | sort by r desc | project id", [(1,), (4,), (3,), (2,)]),
    ("rows | sort by r asc nulls last | project id", [(4,), (1,), (3,), (2,)]),
    ("rows | sort by s asc, id desc | project id", [(3,), (2,), (1,), (4,)]),
    ("rows | sort by d desc nulls first | where id != 1 | project x = id", [(2,), (4,), (3,)]),
    ("rows | top 2 by l | project id", [(3,), (4,)]),
    ("rows | sort by id | limit 2 | extend z = 1 | project id", [(4,), (3,)]),
    ("rows | distinct b | sort by b asc", [(N,), (F,), (T,)]),
    ("rows | project s | distinct * | count", [(3,)]),
    ("rows | summarize n = count(), max(i) by b | sort by b asc",
     [(N, 1, N), (F, 1, -1), (T, 2, 7)]),
    ("rows | summarize by s | count", [(3,)]),
    ("rows | where id > 9 | summarize count(), sum(i), max(i), make_list(i)", [(0, 0, N, "[]")]),
    ("rows | summarize arg_max(l, id, s)", [(2**62, 3, "")]),
    ("rows | where id != 3 | summarize arg_min(l, *) by b | project b, l, id | sort by b asc",
     [(N, N, N), (T, -7, 1)]),
    ("rows | summarize percentiles(i, 0, 100)", [(-1, 7)]),
    ("rows | parse s with verb:string ' /' rest | project id, verb, rest | sort by id asc",
     [(1, "GET", "Cart"), (2, "", ""), (3, "", ""), (4, "", "")]),
    ("rows | parse-where s with * '/' word:string | project word", [("Cart",)]),
    ("print t = 'took 12 ms, rate 1.5' | parse t with 'took ' ms:long ' ms, rate ' rate:real",
     [("took 12 ms, rate 1.5", 12, 1.5)]),
    ("rows | mv-expand e = j.c to typeof(string) | project id, e | sort by id asc, e asc",
     [(1, N), (1, "1"), (1, "x"), (2, N), (3, N), (4, N)]),
    ("rows | where id == 1 | mv-expand e = j.d | project id, e", [(1, '{"e":true}')]),
    ('print b = dynamic({"x": 1, "y/~z": [2]}) | mv-expand b | project v = tostring(b)'
     " | sort by v asc", [('{"x":1}',), ('{"y/~z":[2]}',)]),
    ("print b = dynamic({}) | mv-expand b", [(N,)]),
    ('print attributes = dynamic({"http": {"x": 1}, "http.route": "/cart"})'
     " | project attributes.http.route == '/cart', attributes.http.x == 1", [(T, T)]),
    ('print attributes = dynamic({"http": {"route": "/a"}, "http.route": "/b"})'
     " | project tostring(attributes.http.route)", [("/a",)]),
    ("rows | where id == 3 | mv-expand j | project j", [('"x"',)]),
    ("rows | where id == 1 | union (rows | where id == 2) | project id | sort by id asc",
     [(1,), (2,)]),
    ("union (rows | project id, i), (rows | project id, s) | where id == 1 | project i, s"
     " | sort by i asc", [(N, "GET /Cart"), (7, N)]),
    ("union kind=inner (rows | project id, i), (rows | project s, id) | count", [(8,)]),
    ("rows | join kind=inner (rows | project id, k = i) on id | project id, k | sort by id asc",
     [(1, 7), (2, N), (3, -1), (4, 0)]),
    ("rows | project b, id | join (rows | project b, l) on b | summarize count() by b"
     " | sort by b asc", [(F, 1), (T, 2)]),
    ("rows | project id | join kind=leftouter (rows | where id > 3 | project id, s) on id"
     " | where id1 == 4 | project id, id1, s", [(4, 4, "löwe_x cart\n")]),
    ("rows | where id > 3 | project id | join kind=rightouter (rows | project m = id)"
     " on $left.id == $right.m | sort by m asc | project id, m", [(N, 1), (N, 2), (N, 3), (4, 4)]),
    ("rows | where id < 2 | project id | join kind=fullouter (rows | where id == 4 | project m = id)"
     " on $left.id == $right.m | sort by id asc | project id, m", [(N, 4), (1, N)]),
    ("rows | join kind=leftsemi (rows | where i > 0) on id | project id", [(1,)]),
    ("rows | join kind=leftanti (rows | where i > 0) on id | project id | sort by id asc",
     [(2,), (3,), (4,)]),
    ("rows | where i > 0 | join kind=rightsemi (rows) on id | project id", [(1,)]),
    ("rows | where i > 0 | join kind=rightanti (rows | where id < 3) on id | project id", [(2,)]),
    ("rows | project id | lookup (rows | project id, k = i) on id | sort by id asc | take 1",
     [(1, 7)]),
    ("rows | project s | join kind=inner (rows | project s, k = id) on s | count", [(6,)]),
    ("rows | project s | join (rows | project s, k = id) on s | count", [(4,)]),
    ("rows | where id == 2 | project s | join kind=leftanti (rows | where id == 3) on s | count",
     [(0,)]),
    ("let few = (rows | where id < 3); few | count", [(2,)]),
    ("let twice = union rows, rows; twice | count", [(8,)]),
    ("let limit_ = 3; let few = rows | where id < limit_; few | count", [(2,)]),
    ("let shift = 1h; print x = datetime(2026-01-01) + shift", [("2026-01-01T01:00:00Z",)]),
    ("rows | project id, d | getschema", [("id", 0, "System.Int64", "long"),
                                          ("d", 1, "System.DateTime", "datetime")]),
    ("rows | sort by id asc | extend p = prev(id), n = next(id, 1, 9), c = row_cumsum(id, id == 3)"
     " | where row_number() > 1 | project id, p, n, c", [(2, 1, 3, 3), (3, 2, 4, 3), (4, 3, 9, 7)]),
    ("rows | sort by s asc, id asc | serialize k = row_rank_dense(s) | project id, k",
     [(2, 1), (3, 1), (1, 2), (4, 3)]),
    ("let f = (T:(*), n:long) { T | where id > n }; rows | project id | invoke f(2) | sort by id asc",
     [(3,), (4,)]),
    ("rows | where id in (rows | where i > 0 | project id) | project id", [(1,)]),
    ("rows | where id == toscalar(rows | summarize max(id)) | project id", [(4,)]),
    ("rows | serialize | as t | where id == 1 | project id | render table", [(1,)]),
    ("rows | where ['i'] == 7 // a comment\n| project ['odd \"name`'] = id", [(1,)]),
]  # fmt: skip

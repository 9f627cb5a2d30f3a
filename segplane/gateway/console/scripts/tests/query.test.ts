import assert from "node:assert/strict";
import { test } from "node:test";

import { StringStream } from "@codemirror/language";

import { token, tablesOf } from "../src/languages.js";
import type { Language } from "../src/languages.js";
import { LINES_MAX, linesOf } from "../src/lines.js";

function tokens(text: string, language: Language): string[] {
  const stream = new StringStream(text, 4, 2);
  const kinds = [];
  while (!stream.eol()) {
    stream.start = stream.pos;
    const kind = token(stream, language);
    assert.ok(stream.pos > stream.start);
    if (kind) kinds.push(`${kind}:${stream.current()}`);
  }
  return kinds;
}

test("words of KQL and SQL have their kinds", () => {
  assert.deepEqual(tokens("web | where n > 5m and f('a\\'b') // x", "kql"), [
    "variableName:web", "operator:|", "keyword:where", "variableName:n", "operator:>", "number:5m", "keyword:and",
    "variableName.function:f", "string:'a\\'b'", "comment:// x",
  ]);
  assert.deepEqual(tokens("SELECT \"a\" FROM web WHERE b = 'it''s' -- x", "sql"), [
    "keyword:SELECT", "propertyName:\"a\"", "keyword:FROM", "variableName:web", "keyword:WHERE", "variableName:b", "operator:=",
    "string:'it''s'", "comment:-- x",
  ]);
});

test("any text ends", () => {
  for (const text of ["'", '"', "\\", "@'", "é\u{1f600}", "((("]) for (const language of ["kql", "sql"] as const) tokens(text, language);
});

test("tables are where tables stand", () => {
  assert.deepEqual(tablesOf("web | where x == 1 | join kind=inner (['a b'] | take 1) on y", "kql"), ["web", "a b"]);
  assert.deepEqual(tablesOf("let t = shop/web | take 1;\nunion t, b", "kql"), ["shop/web", "t", "b"]);
  assert.deepEqual(tablesOf('SELECT * FROM web JOIN "a b" USING (x)', "sql"), ["web", "a b"]);
});

test("lines are named by a text or by their column", () => {
  const rows = [["2026-01-01T00:00:01Z", "a", "1"], ["2026-01-01T00:00:00Z", "b", "2"], ["never", "a", "9"]];

  assert.deepEqual(linesOf(rows, ["t", "s", "n"], 0, [2], 1), {
    times: [1767225600, 1767225601], names: ["a", "b"], values: [[null, 1], [2, null]],
  });
  assert.deepEqual(linesOf(rows, ["t", "s", "n"], 0, [2], null)?.names, ["n"]);
  assert.equal(linesOf(rows.slice(0, 1), ["t", "s", "n"], 0, [2], 1), null);
  const many = [...Array(20).keys()].map((n) => [`2026-01-01T00:00:${10 + n}Z`, `s${n}`, "1"]);
  assert.equal(linesOf(many, ["t", "s", "n"], 0, [2], 1)?.names.length, LINES_MAX);
});

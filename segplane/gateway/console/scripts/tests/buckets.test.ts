import assert from "node:assert/strict";
import { test } from "node:test";

import { bucketsOf, describe, rangeOf, select, stack } from "../src/buckets.js";
import type { Buckets } from "../src/buckets.js";

const ROWS = [
  { start: 1_000, counts: { error: 2, info: 10 } },
  { start: 3_000, counts: { info: 1 } },
];

function buckets(from = 1_000, to = 5_000): Buckets {
  const made = bucketsOf(from, to, 1_000, ROWS);
  assert.ok(made);
  return made;
}

test("times without a row have a bucket", () => {
  assert.deepEqual(buckets().starts, [1_000, 2_000, 3_000, 4_000]);
  assert.deepEqual(buckets().counts.info, [10, 0, 1, 0]);
});

test("the first bucket may begin before the range", () => {
  assert.deepEqual(buckets(1_400, 2_100).starts, [1_000, 2_000]);
});

test("a table without a sensible range is not drawn", () => {
  assert.equal(bucketsOf(0, 1_000, 0, []), null);
  assert.equal(bucketsOf(5, 5, 1, []), null);
  assert.equal(bucketsOf(NaN, 5, 1, []), null);
  assert.ok(bucketsOf(0, 5_000, 1, []));
  assert.equal(bucketsOf(0, 5_001, 1, []), null);
});

test("the worst severity is at the bottom of a bar", () => {
  const [fatal, error, , info, , , none] = stack(buckets());

  assert.deepEqual(fatal, [0, 0, 0, 0]);
  assert.deepEqual(error, [2, 0, 0, 0]);
  assert.deepEqual(info, [12, 0, 1, 0]);
  assert.deepEqual(none, info);
});

test("arrows choose a bucket, and a range with shift", () => {
  const first = select(null, "ArrowRight", false, 4);
  assert.deepEqual(first, { anchor: 0, focus: 0 });
  assert.deepEqual(select(first, "ArrowRight", true, 4), { anchor: 0, focus: 1 });
  assert.deepEqual(select(first, "ArrowLeft", true, 4), { anchor: 0, focus: 0 });
  assert.deepEqual(select(null, "ArrowLeft", false, 4), { anchor: 3, focus: 3 });
  assert.deepEqual(select(first, "End", true, 4), { anchor: 0, focus: 3 });
  assert.equal(select(first, "x", false, 4), null);
});

test("the range of a selection does not leave the whole range", () => {
  assert.deepEqual(rangeOf(buckets(), { anchor: 2, focus: 1 }), [2_000, 4_000]);
  assert.deepEqual(rangeOf(buckets(1_400, 2_100), { anchor: 0, focus: 1 }), [1_400, 2_100]);
});

test("a selection says how many records of which severity it has", () => {
  assert.equal(describe(buckets(), { anchor: 0, focus: 2 }), "13 records: error 2, info 11");
  assert.equal(describe(buckets(), { anchor: 2, focus: 2 }), "1 record: info 1");
  assert.equal(describe(buckets(), { anchor: 1, focus: 1 }), "0 records");
});

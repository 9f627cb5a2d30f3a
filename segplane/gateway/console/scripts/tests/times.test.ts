import assert from "node:assert/strict";
import { test } from "node:test";

import { axisTexts, localText } from "../src/times.js";

test("a local time has all digits of the time in UTC", () => {
  assert.equal(localText("2026-01-01T23:30:00.123456789Z", () => 540), "2026-01-02 08:30:00.123456789 +09:00");
});

test("zones may be behind UTC and by parts of an hour", () => {
  assert.equal(localText("2026-01-01T00:00:00Z", () => -210), "2025-12-31 20:30:00 -03:30");
  assert.equal(localText("2026-01-01T00:00:00Z", () => 0), "2026-01-01 00:00:00 +00:00");
});

test("what is no time in UTC stays as it is", () => {
  for (const text of ["", "2026-01-01", "2026-01-01T00:00:00+01:00", "yesterday"]) assert.equal(localText(text), null);
});

test("marks of an axis have no needless zeros, and each date once", () => {
  const marks = axisTexts(["2026-01-01 23:50:00.000Z", "2026-01-01 23:55:00.000Z", "2026-01-02 00:00:00.000Z"]);

  assert.deepEqual(marks, ["23:50\n2026-01-01", "23:55", "00:00\n2026-01-02"]);
  assert.deepEqual(axisTexts(["2026-01-01 00:00:00.000Z", "2026-01-02 00:00:00.000Z"]), ["2026-01-01", "2026-01-02"]);
  assert.deepEqual(axisTexts(["2026-01-01 10:00:00.250 +09:00"]), ["10:00:00.250\n2026-01-01"]);
});

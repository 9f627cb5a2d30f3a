import assert from "node:assert/strict";
import { test } from "node:test";

import { nextRow } from "../src/keys.js";

test("rows are walked from the first one and not beyond the last", () => {
  assert.equal(nextRow(-1, 3, 1), 0);
  assert.equal(nextRow(0, 3, 1), 1);
  assert.equal(nextRow(2, 3, 1), 2);
  assert.equal(nextRow(0, 3, -1), 0);
  assert.equal(nextRow(-1, 0, 1), null);
});

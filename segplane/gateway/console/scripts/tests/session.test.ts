import assert from "node:assert/strict";
import { test } from "node:test";
import { millisBeforeRenewal } from "../src/session.js";

test("a session is renewed a minute before its token ends", () => {
  assert.equal(millisBeforeRenewal(600), 540_000);
});

test("a token of less than a minute is renewed with a pause", () => {
  assert.equal(millisBeforeRenewal(30), 5_000);
  assert.equal(millisBeforeRenewal(-10), 5_000);
});

test("a wait is at most what browsers can wait for", () => {
  assert.equal(millisBeforeRenewal(2_147_543), 2_147_483_000);
  assert.equal(millisBeforeRenewal(2_147_544), 2 ** 31 - 1);
  assert.equal(millisBeforeRenewal(1e300), 2 ** 31 - 1);
});

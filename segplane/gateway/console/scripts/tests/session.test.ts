import assert from "node:assert/strict";
import { test } from "node:test";
import { secsBeforeRenewal } from "../src/session.js";

test("a session is renewed a minute before its token ends", () => {
  assert.equal(secsBeforeRenewal(600), 540);
});

test("a token of less than a minute is renewed with a pause", () => {
  assert.equal(secsBeforeRenewal(30), 5);
  assert.equal(secsBeforeRenewal(-10), 5);
});

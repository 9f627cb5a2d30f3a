import assert from "node:assert/strict";
import { test } from "node:test";

import { rangeAddress, withParameter } from "../src/address.js";

test("a range keeps the search and drops the place in the result", () => {
  const address = rangeAddress("http://host/ui/logs?dataset=web&q=a%26b&after=x&from=-1h", 0, 1_500);

  assert.equal(
    address,
    "http://host/ui/logs?dataset=web&q=a%26b&from=1970-01-01T00%3A00%3A00.000Z&to=1970-01-01T00%3A00%3A01.500Z",
  );
});

test("a parameter that is there stays", () => {
  assert.equal(withParameter("http://host/ui/?tz=utc", "tz", "local"), "http://host/ui/?tz=utc");
  assert.equal(withParameter("http://host/ui/#x", "tz", "local"), "http://host/ui/?tz=local#x");
});

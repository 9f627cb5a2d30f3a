import assert from "node:assert/strict";
import test from "node:test";

import { Followers } from "../src/followers.js";
import { Waiting, missingText } from "../src/waiting.js";

const arrival = (html: string, shown: number, leftOut = 0) => ({ html, shown, leftOut, segmentsLeftOut: 0, isCut: false });

test("the views of all tabs are one stream, each once and from where it stands", () => {
  const followers = new Followers();
  assert.equal(followers.stream("/ui/live/events"), null);
  assert.equal(followers.take("a", [{ view: "dataset=web", since: 0 }]), true);
  assert.equal(followers.take("b", [{ view: "dataset=web", since: 7 }]), false);
  assert.equal(followers.take("b", [{ view: "dataset=web", since: 7 }, { view: "q=x&dataset=api", since: 0 }]), true);
  followers.saw("dataset=web", 9);
  followers.saw("dataset=web", 8);

  assert.deepEqual(followers.stream("/ui/live/events"), {
    address: "/ui/live/events?view=dataset%3Dweb%26since%3D9&view=q%3Dx%26dataset%3Dapi",
    views: ["dataset=web", "q=x&dataset=api"],
  });
  assert.equal(followers.take("a", []), false);
  assert.equal(followers.take("b", []), true);
  assert.equal(followers.stream("/ui/live/events"), null);
});

test("a stream has the views that the gateway takes", () => {
  const followers = new Followers();
  followers.take("long", [{ view: "q".repeat(4_000), since: 0 }]);
  for (let n = 0; n < 9; n++) followers.take(`tab ${n}`, [{ view: `dataset=${n}`, since: 0 }]);

  assert.deepEqual(followers.stream("/e")?.views, [...Array(8).keys()].map((n) => `dataset=${n}`));
});

test("records wait in bounds, and those that were dropped are counted", () => {
  const waiting = new Waiting(300);
  waiting.add(arrival("one", 200, 5));
  waiting.add(arrival("two", 200));
  assert.equal(waiting.records, 405);
  waiting.add(arrival("three", 100));

  assert.deepEqual(waiting.take(), { html: ["three", "two"], missing: { records: 205, segments: 0, isCut: false } });
  assert.deepEqual(waiting.take(), { html: [], missing: { records: 0, segments: 0, isCut: false } });
});

test("what is missing is said in words", () => {
  assert.equal(missingText({ records: 0, segments: 0, isCut: false }), "");
  assert.match(missingText({ records: 1_234, segments: 1, isCut: true }), /^1,234 records .* 1 segment came .* are missing/);
});

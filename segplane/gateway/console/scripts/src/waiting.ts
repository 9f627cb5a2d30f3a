// Records that have come and are not on the page yet.

/** Rows of one read, and what it has left out. */
export interface Arrival {
  html: string;
  shown: number;
  leftOut: number;
  segmentsLeftOut: number;
  isCut: boolean;
}

/** What was not shown: records, segments that were not read, and whether a part is missing. */
export interface Missing {
  records: number;
  segments: number;
  isCut: boolean;
}

/** Arrivals up to a number of records; of more, the oldest are dropped and counted. */
export class Waiting {
  #arrivals: Arrival[] = [];
  #missing: Missing = { records: 0, segments: 0, isCut: false };

  constructor(readonly most: number) {}

  /** The records that have come, with those that were left out. */
  get records(): number {
    return this.#arrivals.reduce((sum, { shown }) => sum + shown, this.#missing.records);
  }

  add(arrival: Arrival): void {
    this.#arrivals.push(arrival);
    this.#missing.records += arrival.leftOut;
    this.#missing.segments += arrival.segmentsLeftOut;
    this.#missing.isCut ||= arrival.isCut;
    let shown = this.#arrivals.reduce((sum, each) => sum + each.shown, 0);
    while (shown > this.most && this.#arrivals.length > 1) {
      const dropped = this.#arrivals.shift()?.shown ?? 0;
      shown -= dropped;
      this.#missing.records += dropped;
    }
  }

  /** Take all of them, the newest first. */
  take(): { html: string[]; missing: Missing } {
    const html = this.#arrivals.map((arrival) => arrival.html).reverse();
    const missing = this.#missing;
    this.#arrivals = [];
    this.#missing = { records: 0, segments: 0, isCut: false };
    return { html, missing };
  }
}

/** A sentence about what is not shown; "" = all is. */
export function missingText({ records, segments, isCut }: Missing): string {
  const number = (count: number, one: string) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
  const parts = [];
  if (records) parts.push(`${number(records, "record")} of the last reads are not shown: narrow the search to see all.`);
  if (segments) parts.push(`${number(segments, "segment")} came at once and were not read.`);
  if (isCut) parts.push("Records that came meanwhile and were not read are missing: the logs have them.");
  return parts.join(" ");
}

// Parameters that belong to a place in one result: another range has another result.
const OF_RESULT = ["after", "before", "row"];

/** Address of the same page for a range of time in milliseconds since the epoch. */
export function rangeAddress(address: string, fromMs: number, toMs: number): string {
  const url = new URL(address);
  OF_RESULT.forEach((name) => url.searchParams.delete(name));
  url.searchParams.set("from", new Date(fromMs).toISOString());
  url.searchParams.set("to", new Date(toMs).toISOString());
  return url.href;
}

/** Address with a parameter, unless it has that already. */
export function withParameter(address: string, name: string, value: string): string {
  const url = new URL(address);
  if (!url.searchParams.has(name)) url.searchParams.set(name, value);
  return url.href;
}

import { withParameter } from "./address.js";

const ZONE = "tz";
const LOCAL = "local";
const UTC_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z$/;

/** Minutes that local time is ahead of UTC at a time. */
export type Offset = (time: Date) => number;

export const browserOffset: Offset = (time) => -time.getTimezoneOffset();

/** A time of RFC 3339 in UTC as local time with all its digits; null if it is of another form. */
export function localText(datetime: string, offset: Offset = browserOffset): string | null {
  const match = UTC_TIME.exec(datetime);
  if (!match) return null;
  const time = new Date(`${match[1]}Z`);
  const minutes = offset(time);
  const shifted = new Date(time.getTime() + minutes * 60_000);
  const distance = Math.abs(minutes);
  const zone = [Math.floor(distance / 60), distance % 60].map((part) => String(part).padStart(2, "0")).join(":");
  return `${shifted.toISOString().slice(0, 19).replace("T", " ")}${match[2] ?? ""} ${minutes < 0 ? "-" : "+"}${zone}`;
}

/** Marks of a time axis from texts such as `2026-01-01 00:05:00.000Z`: no zeros, each date once, below. */
export function axisTexts(times: string[]): string[] {
  const parts = times.map((time) => [time.slice(0, 10), time.slice(11, 23)] as const);
  const isWhole = (zeros: RegExp) => parts.every(([, clock]) => zeros.test(clock));
  const length = isWhole(/:00\.000$/) ? 5 : isWhole(/\.000$/) ? 8 : 12;
  const isDaily = isWhole(/^00:00:00\.000$/);
  return parts.map(([date, clock], index) => {
    if (isDaily) return date;
    return date === parts[index - 1]?.[0] ? clock.slice(0, length) : `${clock.slice(0, length)}\n${date}`;
  });
}

/** Whether the address of the page asks for local time. */
export function isLocal(): boolean {
  return new URLSearchParams(location.search).get(ZONE) === LOCAL;
}

/** Show the times of a part in local time, if the address asks for it. */
export function showLocalTimes(part: Element): void {
  if (!isLocal()) return;
  for (const element of part.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    const text = localText(element.dateTime);
    if (text === null || element.title) continue;
    element.title = element.dateTime;
    element.textContent = text;
  }
}

/** Show the link that switches between UTC and local time where the page has times. */
export function offerZones(): void {
  const link = document.querySelector<HTMLAnchorElement>("a[data-zone-switch]");
  if (!link || !document.querySelector("time[datetime], table[data-histogram]")) return;
  const url = new URL(location.href);
  url.searchParams.set(ZONE, isLocal() ? "utc" : LOCAL);
  link.href = url.href;
  link.textContent = isLocal() ? "Show UTC" : "Show local time";
  link.hidden = false;
}

/** Let links and forms go on with local time: it is remembered in the address alone. */
export function carryZone(): void {
  if (!isLocal()) return;
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href]");
    if (link && isPage(link.href)) link.href = withParameter(link.href, ZONE, LOCAL);
  }, true);
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== "get" || !isPage(form.action) || form.elements.namedItem(ZONE)) return;
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: ZONE, value: LOCAL });
    form.append(field);
  }, true);
}

function isPage(address: string): boolean {
  const url = new URL(address, location.href);
  return url.origin === location.origin && url.pathname.includes("/ui/");
}

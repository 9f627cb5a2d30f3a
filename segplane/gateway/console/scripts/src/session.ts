const AHEAD_SECS = 60;
// A token that lives for less than a minute is not renewed without a pause.
const PAUSE_SECS = 5;

/** Return how long to wait before the renewal of a token that ends in some seconds. */
export function secsBeforeRenewal(endsInSecs: number): number {
  return Math.max(PAUSE_SECS, endsInSecs - AHEAD_SECS);
}

/** Renew the session a minute before its token ends, and at once on the page that asks for it. */
export function keepSession(): void {
  document.querySelector<HTMLFormElement>("form[data-renew]")?.requestSubmit();
  const form = document.querySelector<HTMLFormElement>("form[data-session-secs]");
  if (form) schedule(form, Number(form.dataset.sessionSecs));
}

function schedule(form: HTMLFormElement, endsInSecs: number): void {
  // Tabs of one browser take turns: those that come within 30 s get the answer of the first.
  const renewInTurn = () => navigator.locks.request("segplane-session", () => renew(form));
  setTimeout(renewInTurn, secsBeforeRenewal(endsInSecs) * 1_000);
}

async function renew(form: HTMLFormElement): Promise<void> {
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value)]);
  const reply = await fetch(form.action, { method: "POST", body: new URLSearchParams(fields) });
  const endsInSecs = Number(reply.headers.get("Session-Secs"));
  // After a refusal the next page leads to the login.
  if (reply.ok && endsInSecs > 0) schedule(form, endsInSecs);
}

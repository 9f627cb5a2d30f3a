const AHEAD_SECS = 60;
// A token that lives for less than a minute is not renewed without a pause.
const PAUSE_SECS = 5;
const RETRY_SECS = 20;
// The gateway gives the answer of a renewal again for this long.
const TURN_SECS_MAX = 30;
// Browsers call at once what is to wait for longer.
const WAIT_MILLIS_MAX = 2 ** 31 - 1;
const TURN = "segplane-session";

/** Return how long to wait before the renewal of a token that ends in some seconds. */
export function millisBeforeRenewal(endsInSecs: number): number {
  return Math.min(WAIT_MILLIS_MAX, 1_000 * Math.max(PAUSE_SECS, endsInSecs - AHEAD_SECS));
}

/** Renew the session a minute before its token ends, and at once on the page that asks for it. */
export function keepSession(): void {
  const page = document.querySelector<HTMLFormElement>("form[data-renew]");
  if (page) void navigator.locks.request(TURN, () => submitted(page));
  const form = document.querySelector<HTMLFormElement>("form[data-session-secs]");
  if (form) new Renewals(form).schedule(Number(form.dataset.sessionSecs));
}

/** Submit a form, and wait for the page that it leads to, which ends this one. */
function submitted(page: HTMLFormElement): Promise<void> {
  page.requestSubmit();
  return pause(TURN_SECS_MAX);
}

function pause(secs: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, 1_000 * secs));
}

/** Tabs of one browser take turns: one renews, and tells the others the new end. */
class Renewals {
  private readonly channel = new BroadcastChannel(TURN);
  private timer = 0;
  // Counts the schedules, so that a tab whose turn comes late sees that another has renewed.
  private round = 0;

  constructor(private readonly form: HTMLFormElement) {
    this.channel.onmessage = (told: MessageEvent<number>) => this.schedule(told.data);
  }

  schedule(endsInSecs: number): void {
    const round = ++this.round;
    window.clearTimeout(this.timer);
    const renewInTurn = () =>
      navigator.locks.request(TURN, () => (round === this.round ? this.renew() : undefined));
    this.timer = window.setTimeout(renewInTurn, millisBeforeRenewal(endsInSecs));
  }

  private async renew(): Promise<void> {
    const fields = [...new FormData(this.form)].map(([name, value]) => [name, String(value)]);
    const body = new URLSearchParams(fields);
    const reply = await fetch(this.form.action, { method: "POST", body }).catch(() => null);
    if (!reply || reply.status >= 500) return this.schedule(AHEAD_SECS + RETRY_SECS);
    const endsInSecs = Number(reply.headers.get("Session-Secs"));
    // After a refusal the next page leads to the login.
    if (!reply.ok || !(endsInSecs > 0)) return;
    this.channel.postMessage(endsInSecs);
    this.schedule(endsInSecs);
    // The others hear of it before their turn.
    await pause(1);
  }
}

// One event stream a browser: the tab with the lock holds it, and passes events on to the others.
import { Followers } from "./followers.js";
import type { Followed } from "./followers.js";

const NAME = "segplane-live";
// A tab that ended without a word is forgotten after a round of questions.
const ASK_MILLIS = 15_000;
const REOPEN_MILLIS = 5_000;
const KINDS = ["state", "rows", "refused"] as const;

/** Event of a view; `kind` is one of the gateway's, or what this browser knows of the connection. */
export interface ViewEvent {
  view: string;
  kind: (typeof KINDS)[number] | "connected" | "disconnected";
  data: Record<string, unknown>;
}

type Message =
  | { kind: "follow"; tab: string; followed: Followed[] }
  | { kind: "who" }
  | { kind: "event"; event: ViewEvent };

/** Follows one view while its page is visible. */
export class Follower {
  readonly #channel: BroadcastChannel;
  readonly #name: string;
  readonly #tab = crypto.randomUUID();
  #since = 0;
  #end: AbortController | null = null;
  #holder: StreamHolder | null = null;

  constructor(
    readonly view: string,
    readonly events: string,
    readonly receive: (event: ViewEvent) => void,
  ) {
    // The address has the tenant: tabs of two tenants have a stream each.
    this.#name = `${NAME} ${events}`;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = (message: MessageEvent<Message>) => this.#hear(message.data);
    document.addEventListener("visibilitychange", () => this.#show());
    window.addEventListener("pagehide", () => this.#leave());
    window.addEventListener("pageshow", () => this.#show());
    this.#show();
  }

  #show(): void {
    if (document.hidden) return this.#leave();
    this.#say();
    if (this.#end) return;
    const end = (this.#end = new AbortController());
    const hold = () => new Promise<void>((release) => {
      if (end.signal.aborted) return release();
      this.#holder = new StreamHolder(this.#channel, this.events, (event) => this.#take(event));
      this.#holder.follow(this.#tab, this.#followed());
      end.signal.addEventListener("abort", () => {
        this.#holder?.close();
        this.#holder = null;
        release();
      });
    });
    navigator.locks.request(this.#name, { signal: end.signal }, hold).catch(() => undefined);
  }

  #leave(): void {
    this.#end?.abort();
    this.#end = null;
    this.#post({ kind: "follow", tab: this.#tab, followed: [] });
  }

  #followed(): Followed[] {
    return document.hidden ? [] : [{ view: this.view, since: this.#since }];
  }

  #say(): void {
    if (this.#holder) this.#holder.follow(this.#tab, this.#followed());
    else this.#post({ kind: "follow", tab: this.#tab, followed: this.#followed() });
  }

  #hear(message: Message): void {
    if (message.kind === "who") this.#say();
    else if (message.kind === "follow") this.#holder?.follow(message.tab, message.followed);
    else if (message.kind === "event") this.#take(message.event);
  }

  #take(event: ViewEvent): void {
    if (event.view !== this.view) return;
    this.#since = Math.max(this.#since, Number(event.data["through"] ?? 0));
    this.receive(event);
  }

  #post(message: Message): void {
    this.#channel.postMessage(message);
  }
}

/** The stream of all visible live views, held by one tab. */
class StreamHolder {
  readonly #followers = new Followers();
  #source: EventSource | null = null;
  #opening = 0;
  readonly #asking: number;
  #heard = new Set<string>();
  #tabs = new Set<string>();

  constructor(
    readonly channel: BroadcastChannel,
    readonly events: string,
    readonly receive: (event: ViewEvent) => void,
  ) {
    this.#asking = window.setInterval(() => this.#ask(), ASK_MILLIS);
    channel.postMessage({ kind: "who" } satisfies Message);
  }

  follow(tab: string, followed: Followed[]): void {
    this.#heard.add(tab);
    this.#tabs.add(tab);
    if (this.#followers.take(tab, followed)) this.#open(50);
  }

  close(): void {
    clearInterval(this.#asking);
    clearTimeout(this.#opening);
    this.#source?.close();
  }

  #ask(): void {
    for (const tab of this.#tabs) if (!this.#heard.has(tab) && this.#followers.take(tab, [])) this.#open(50);
    this.#tabs = new Set(this.#heard);
    this.#heard = new Set();
    this.channel.postMessage({ kind: "who" } satisfies Message);
  }

  #open(millis: number): void {
    clearTimeout(this.#opening);
    this.#opening = window.setTimeout(() => this.#connect(), millis);
  }

  #connect(): void {
    this.#source?.close();
    this.#source = null;
    const stream = this.#followers.stream(this.events);
    if (!stream) return;
    const source = (this.#source = new EventSource(stream.address));
    const all = (kind: ViewEvent["kind"]) => stream.views.forEach((view) => this.#pass({ view, kind, data: {} }));
    source.onopen = () => all("connected");
    source.onerror = () => {
      all("disconnected");
      // The browser tries again by itself, unless the gateway refused.
      if (source.readyState === EventSource.CLOSED && source === this.#source) this.#open(REOPEN_MILLIS);
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        const data = JSON.parse((event as MessageEvent<string>).data) as Record<string, unknown>;
        const view = stream.views[Number(data["view"])];
        if (view === undefined) return;
        this.#followers.saw(view, Number(data["through"] ?? 0));
        this.#pass({ view, kind, data });
      });
    }
  }

  #pass(event: ViewEvent): void {
    this.receive(event);
    this.channel.postMessage({ kind: "event", event } satisfies Message);
  }
}

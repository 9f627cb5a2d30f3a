// Live views of all tabs of a browser, as the tab that holds the stream knows them.

// The gateway takes so many views in a stream, and addresses of 4 KiB.
const VIEWS_MAX = 8;
const ADDRESS_MAX = 4_000;

/** Parameters of a view, and the last version that its page has seen; 0 = none yet. */
export interface Followed {
  view: string;
  since: number;
}

/** Views by the tab that shows them, and the versions that each has seen. */
export class Followers {
  readonly #byTab = new Map<string, string[]>();
  readonly #since = new Map<string, number>();

  /** Take the views that a tab shows now; true if the views of all tabs have changed. */
  take(tab: string, followed: Followed[]): boolean {
    const before = this.views().join("\n");
    this.#byTab.delete(tab);
    if (followed.length) this.#byTab.set(tab, followed.map(({ view }) => view));
    followed.forEach(({ view, since }) => this.saw(view, since));
    for (const view of this.#since.keys()) if (!this.views().includes(view)) this.#since.delete(view);
    return this.views().join("\n") !== before;
  }

  /** Remember the version up to which a view is complete. */
  saw(view: string, since: number): void {
    this.#since.set(view, Math.max(since, this.#since.get(view) ?? 0));
  }

  /** The views of all tabs, each once. */
  views(): string[] {
    return [...new Set([...this.#byTab.values()].flat())];
  }

  /** Address of the stream of the first views that fit, and these views; null without any. */
  stream(events: string): { address: string; views: string[] } | null {
    const parameters: string[] = [];
    const views: string[] = [];
    for (const view of this.views()) {
      const since = this.#since.get(view);
      const parameter = `view=${encodeURIComponent(since ? `${view}&since=${since}` : view)}`;
      const isLong = events.length + [...parameters, parameter].join("&").length > ADDRESS_MAX;
      if (views.length === VIEWS_MAX || isLong) continue;
      parameters.push(parameter);
      views.push(view);
    }
    return views.length ? { address: `${events}?${parameters.join("&")}`, views } : null;
  }
}

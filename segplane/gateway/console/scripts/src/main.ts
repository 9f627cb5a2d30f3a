// Parts of the console that HTML does not carry. Without them each page shows tables and forms.
import { drawResult } from "./chart.js";
import { drawHistograms } from "./histogram.js";
import { listenToKeys } from "./keys.js";
import { followLive } from "./live.js";
import { pausePolling } from "./polling.js";
import { keepSession } from "./session.js";
import { carryZone, offerZones, showLocalTimes } from "./times.js";

pausePolling();
listenToKeys();
carryZone();
keepSession();
followLive();
// htmx processes the whole page first, and later each part that it loads.
document.addEventListener("htmx:after:process", (event) => {
  const part = event.target as Element;
  drawHistograms(part);
  showLocalTimes(part);
  offerZones();
});
// uPlot is deferred too. A result may still be coming until the page is whole.
if (document.readyState === "complete") drawResult();
else window.addEventListener("load", () => drawResult(), { once: true });

// Parts of the console that HTML does not carry. Without them each page shows tables and forms.
import { drawHistograms } from "./histogram.js";
import { listenToKeys } from "./keys.js";
import { pausePolling } from "./polling.js";
import { keepSession } from "./session.js";
import { carryZone, offerZones, showLocalTimes } from "./times.js";

pausePolling();
listenToKeys();
carryZone();
keepSession();
// htmx processes the whole page first, and later each part that it loads.
document.addEventListener("htmx:after:process", (event) => {
  const part = event.target as Element;
  drawHistograms(part);
  showLocalTimes(part);
  offerZones();
});

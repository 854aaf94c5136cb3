// A process with a watchdog that looks every 50 ms; at SIGUSR2 its event loop stands still. Started by watchdog.test.ts with a directory.
import { startWatchdog } from "#server/main/watchdog.ts";
import { openStore } from "#server/store/db.ts";

const LOOK_MS = 50;

await startWatchdog(await openStore({ dataDir: process.argv[2] ?? "" }), LOOK_MS);
process.on("SIGUSR2", () => {
  for (;;);
});
// Alive by itself, and known to have beaten.
setInterval(() => undefined, 1_000);
setTimeout(() => process.stdout.write("watched\n"), 3 * LOOK_MS);

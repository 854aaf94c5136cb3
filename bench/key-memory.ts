// `--case keys`: what ten thousand keys take of the heap once each has served a call, opened from seals as a process does it.
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { NO_TIMES } from "#contract/channel-limits.ts";
import type { SealedKey } from "#server/channels/key-list.ts";
import { Ring } from "#server/channels/key-ring.ts";
import { KEY_CONTEXT, openChannelKey } from "#server/channels/key-rings.ts";
import { createSecrets, type Secrets } from "#server/secrets.ts";
import { channelOfKeys } from "#test/worlds/key-rings.ts";
import type { Line } from "./report.ts";

/** Requirements C24. */
const MOST_MB = 20;
const MOST_REBUILD_MS = 200;
const MEBIBYTE = 2 ** 20;

function rowsOf(secrets: Secrets, count: number): SealedKey[] {
  return Array.from({ length: count }, (_, index) => {
    const key = `sk-bench-${String(index).padStart(40, "0")}`;
    const sealed = { key_hash: secrets.hash(key), key_sealed: secrets.seal(key, KEY_CONTEXT) };
    return { id: index + 1, ...sealed, proxy_sealed: "", weight: 1, models: "", ...NO_TIMES };
  });
}

/** The heap that the keys take, how long they take to be made ready from their rows, and how many known seals a reload of them opens. */
export function keyMemoryLines(count: number): Line[] {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const secrets = createSecrets(randomBytes(32));
  let opened = 0;
  const parts = {
    version: 1,
    open: (row: SealedKey) => {
      opened += 1;
      return openChannelKey(secrets, row);
    },
    onUnreadable: (_id: number, error: unknown) => {
      throw error;
    },
  };
  const serve = (ring: Ring) => {
    const channel = channelOfKeys({ keys: ring, keyMode: "round_robin" });
    const choice = { model: "m", tried: new Set<number>(), now: 1 };
    for (let call = 0; call < count; call += 1) ring.pick(channel, choice);
  };
  // What the first key brings in counts for no key.
  serve(new Ring({ ...parts, rows: rowsOf(secrets, 1), before: undefined }));
  collect();
  const { heapUsed: before } = process.memoryUsage();
  const rows = rowsOf(secrets, count);
  opened = 0;
  const rebuilding = performance.now();
  const ring = new Ring({ ...parts, rows, before: undefined });
  const rebuildMs = performance.now() - rebuilding;
  serve(ring);
  if (opened !== count) throw new Error(`${opened} of ${count} keys have served`);
  collect();
  const heapMb = (process.memoryUsage().heapUsed - before) / MEBIBYTE;
  opened = 0;
  serve(new Ring({ ...parts, rows: rows.map((row) => ({ ...row })), before: ring }));
  const line = {
    case: `a channel of ${count} keys`,
    floor: undefined,
    compared: undefined,
    by: "value" as const,
  };
  return [
    {
      ...line,
      measure: "heap MB",
      tollgate: heapMb,
      target: `≤ ${MOST_MB} MB`,
      mark: heapMb <= MOST_MB ? "OK" : "MISS",
    },
    {
      ...line,
      measure: "rebuild ms",
      tollgate: rebuildMs,
      target: `≤ ${MOST_REBUILD_MS} ms`,
      mark: rebuildMs <= MOST_REBUILD_MS ? "OK" : "MISS",
    },
    {
      ...line,
      measure: "seals opened by a reload",
      tollgate: opened,
      target: "0",
      mark: opened === 0 ? "OK" : "MISS",
    },
  ];
}

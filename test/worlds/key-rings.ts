// Keys of a channel without a database: rows as they are stored, and rings of them whose chance is the same in every run.
import { NO_TIMES } from "#contract/channel-limits.ts";
import { providerOf } from "#contract/providers.ts";
import type { SealedKey } from "#server/channels/key-list.ts";
import { Ring } from "#server/channels/key-ring.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { channelCosts } from "#server/money/channel-costs.ts";
import { createDice } from "#test/seeds/random.ts";

/** Rows with the ids from 1 on. */
export function rowsOf(
  count: number,
  change: (index: number) => Partial<SealedKey> = () => ({}),
): SealedKey[] {
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    key_hash: `hash-of-key-${index + 1}-${"h".repeat(30)}`,
    key_sealed: `v1:${"s".repeat(90)}${index + 1}`,
    proxy_sealed: "",
    weight: 1,
    models: "",
    ...NO_TIMES,
    ...change(index),
  }));
}

interface KeyRingParts {
  readonly before?: Ring | undefined;
  readonly onOpen?: () => void;
}

/** A key's proxy is named by what its row has sealed. Fails when a key cannot be read: all can. */
export function keyRing(rows: readonly SealedKey[], { before, onOpen }: KeyRingParts = {}): Ring {
  const dice = createDice(24);
  return new Ring({
    version: 1,
    rows,
    before,
    open(row) {
      onOpen?.();
      return { key: `sk-${row.id}`, proxy: row.proxy_sealed === "" ? "" : `http://${row.proxy_sealed}:1` };
    },
    onUnreadable(_, error) {
      throw error;
    },
    // From a seed: fair choices that are thrown anew fail a test of fairness now and then.
    random: () => dice(2 ** 32) / 2 ** 32,
  });
}

/** A channel as `candidates.ts` makes it, with one model. Throws: Error when the catalogue has no such type. */
export function channelOfKeys(own: Pick<LiveChannel, "keys" | "keyMode">): LiveChannel {
  const provider = providerOf(1);
  if (provider === undefined) throw new Error("no type 1");
  return {
    ...{ id: 1, type: 1, name: "many keys", status: 1, provider, key: "", baseUrl: "", other: "" },
    ...{ priority: 0, weight: 0, costs: channelCosts(1, ""), mapping: new Map() },
    ...{ models: new Set(["m"]), groups: new Set(["default"]), config: "", proxy: "", reuse: "auto" },
    ...{ route: { owner: "channel 1", proxies: [""] }, keyId: 0, keyProxy: "", rewrite: undefined },
    ...{ limits: undefined, keyLimits: undefined, times: undefined, ...own },
  };
}

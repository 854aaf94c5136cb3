// Every path on which a channel reaches its vendor, through the proxies that others wrote: with the proxy each connection is made by it, without
// it none is, the proxy is blamed, and another channel serves (requirements C10, C13, C17).
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ProxyWorld } from "#test/emulators/proxies.ts";
import { ChannelExit, SETTINGS, type Setting } from "#test/worlds/channel-exit.ts";
import { CALLER, CHANNEL_PATHS, type ChannelPath } from "#test/worlds/channel-paths.ts";
import { egressSites, watchEgress } from "#test/worlds/egress-sites.ts";
import { keptLog } from "#test/worlds/kept-log.ts";
import {
  addressOf,
  goneProxy,
  HOST,
  OUTSIDE,
  type OutsideProxy,
  PASSWORD,
  SECRETS,
  USER,
} from "#test/worlds/outside-proxies.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";
import { IS_SOAK } from "#test/worlds/soak.ts";
import { TASK_PATHS } from "#test/worlds/task-paths.ts";
import { resolveTo } from "#test/worlds/tunnels.ts";

const log = keptLog();
const world = createRelayWorld({ logger: log.logger });
const PATHS = Object.entries({ ...CHANNEL_PATHS, ...TASK_PATHS });
const seen = new Set<string>();
/** The rooms of the code in which calls have a channel. */
const ROOMS = /^(upstream|relay|channels|tasks)\//;

/** What fails alike with every kind of proxy is tried of one only; `npm run soak` tries it of both. */
const failing = (kind: OutsideProxy, setting: Setting) =>
  IS_SOAK || setting === "channel" || kind === OUTSIDE[0] ? PATHS : [];

describe.each(OUTSIDE)("$name", (kind) => {
  let proxy: ProxyWorld;
  beforeAll(async () => {
    proxy = await kind.start(`${USER}:${PASSWORD}`);
  });
  afterAll(() => proxy.close());

  describe.each(SETTINGS)("named by the %s", (setting) => {
    let exit: ChannelExit;
    afterEach(() => exit.close());

    /** The call, what was noted of the egress and which names were resolved here. */
    async function begun({ begin }: ChannelPath) {
      exit = new ChannelExit(world, setting, addressOf(kind, proxy));
      const names = resolveTo({ [CALLER.name]: CALLER.address });
      const { faults } = watchEgress(world.ctx.egress, seen);
      proxy.asked.length = 0;
      const call = await begin(exit);
      return { call, faults, names };
    }

    it.each(PATHS)("%s goes through it alone", async (_, path) => {
      const { call, names, faults } = await begun(path);
      expect(await call()).toBe(path.good);
      const hosts = [HOST, ...(path.besides?.(exit) ?? []).map((place) => place.replace(/:\d+$/, ""))];
      expect(new Set(proxy.asked.map((place) => place.replace(/:\d+$/, "")))).toEqual(new Set(hosts));
      for (const place of path.besides?.(exit) ?? []) expect(proxy.asked).toContain(place);
      // No name of a vendor was resolved here: without the proxy there is no way to it.
      expect(names.filter((name) => name !== "127.0.0.1" && name !== CALLER.name)).toEqual([]);
      expect(faults).toEqual([]);
    });

    it.each(failing(kind, setting))(
      "%s does not go without it, and the proxy is to blame",
      async (_, path) => {
        await world.setOption("AutomaticDisableChannelEnabled", "true");
        const { call, faults, names } = await begun(path);
        const before = [proxy.made(), world.upstream.journal.length];
        await exit.leaveBy(goneProxy(kind));
        const fails = async () => expect(await call()).toBe(path.down);
        // What is under way already stays set aside.
        if (path.movesOn)
          expect(await world.costOf(fails)).toMatchObject({ charged: 0, open: 0, entries: 0 });
        else await fails();
        expect(faults.length).toBeGreaterThan(0);
        for (const fault of faults) expect(fault).toMatchObject({ code: "proxy_unreachable", isProxy: true });
        expect([proxy.made(), world.upstream.journal.length]).toEqual(before);
        expect(names.filter((name) => name !== "127.0.0.1" && name !== CALLER.name)).toEqual([]);
        expect(new Set(await exit.states())).toEqual(new Set([1]));
      },
    );

    const moving = failing(kind, setting).filter(([, { movesOn }]) => movesOn);
    it.each(moving)("%s is served by the next channel", async (_, path) => {
      await world.setOption("RetryTimes", "1");
      const { call } = await begun(path);
      await exit.addOther();
      await exit.leaveBy(goneProxy(kind));
      expect(await call()).toBe(path.good);
      expect(new Set(await exit.states())).toEqual(new Set([1]));
    });
  });
});

it("there is no place in the code where a channel's call leaves that no path above has passed", () => {
  expect(egressSites().filter((site) => ROOMS.test(site) && !seen.has(site))).toEqual([]);
});

it("the login of a proxy stands in no log and no table", async () => {
  const { db } = world.ctx;
  const rows = await Promise.all(
    (["logs", "channels", "channel_keys", "audit", "tasks"] as const).map((table) =>
      db.selectFrom(table).selectAll().execute(),
    ),
  );
  expect(log.text()).not.toBe("");
  for (const secret of SECRETS) expect(log.text() + JSON.stringify(rows)).not.toContain(secret);
});

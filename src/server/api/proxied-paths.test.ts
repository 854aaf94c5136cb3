// Every path on which the server itself reaches the outside, through the proxies that others wrote, named by the option for all: with the proxy
// each connection is made by it, without it none is, and what is told names the proxy, never its login (requirements C10, C13, C17).
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ProxyWorld } from "#test/emulators/proxies.ts";
import { startSmtp } from "#test/emulators/smtp-emulator.ts";
import { databases } from "#test/worlds/app.ts";
import { egressSites, watchEgress } from "#test/worlds/egress-sites.ts";
import { GlobalExit } from "#test/worlds/global-exit.ts";
import { GLOBAL_PATHS, type GlobalPath } from "#test/worlds/global-paths.ts";
import { keptLog } from "#test/worlds/kept-log.ts";
import {
  addressOf,
  goneProxy,
  HOST,
  OUTSIDE,
  PASSWORD,
  SECRETS,
  USER,
} from "#test/worlds/outside-proxies.ts";
import { resolveTo } from "#test/worlds/tunnels.ts";

const log = keptLog();
const exit = new GlobalExit();
const PATHS = Object.entries(GLOBAL_PATHS);
const seen = new Set<string>();
const known = getCACertificates("default");
/** The rooms in which calls have a channel are in the relay's test of this name. */
const ROOMS = /^(?!upstream\/|relay\/|channels\/|tasks\/)/;
/** Mail is no HTTP: its servers are spoken to directly. */
const MAIL = /^accounts\/mailer\.ts:/;

beforeAll(async () => {
  const [sqlite] = databases;
  if (sqlite === undefined) throw new Error("SQLite is the first");
  await exit.start(sqlite, log.logger);
  setDefaultCACertificates([...known, exit.cert]);
});
afterAll(async () => {
  setDefaultCACertificates(known);
  await exit.stop();
});
afterEach(() => exit.leaveBy(""));

describe.each(OUTSIDE)("$name", (kind) => {
  let proxy: ProxyWorld;
  beforeAll(async () => {
    proxy = await kind.start(`${USER}:${PASSWORD}`);
  });
  afterAll(() => proxy.close());

  /** The call, what was noted of the egress and which names were resolved here. */
  async function begun({ begin }: GlobalPath) {
    const names = resolveTo({});
    const { faults } = watchEgress(exit.world.app.ctx.egress, seen);
    await exit.leaveBy(addressOf(kind, proxy));
    proxy.asked.length = 0;
    const call = await begin(exit);
    const from = log.text().length;
    return { call, faults, names, told: () => log.text().slice(from) };
  }
  const resolved = (names: readonly string[]) => names.filter((name) => name !== "127.0.0.1");

  it.each(PATHS)("%s goes through it alone", async (_, path) => {
    const { call, faults, names } = await begun(path);
    expect(await call()).toBe(path.good);
    expect(new Set(proxy.asked.map((place) => place.replace(/:\d+$/, "")))).toEqual(new Set([HOST]));
    // No name was resolved here: without the proxy there is no way to it.
    expect([resolved(names), faults]).toEqual([[], []]);
  });

  it.each(PATHS)("%s does not go without it", async (_, path) => {
    const { call, faults, names, told } = await begun(path);
    const before = proxy.made();
    await exit.leaveBy(goneProxy(kind));
    expect(await call()).toBe(path.down);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ code: "proxy_unreachable", isProxy: true });
    expect([proxy.made(), resolved(names)]).toEqual([before, []]);
    // The service has not failed: it has heard of nothing.
    expect(told()).not.toContain("external service failed");
  });

  it.each(["GitHub's login", "WeChat's login", "Turnstile", "a login by OAuth 2", "the pusher"])(
    "%s is told to the operator as the proxy's failure",
    async (name) => {
      const { call, told } = await begun(GLOBAL_PATHS[name] ?? expect.fail("no such path"));
      await exit.leaveBy(goneProxy(kind));
      await call();
      await expect.poll(told).toMatch(/"problem":"[^"]*proxy_unreachable".*"outbound proxy failed"/);
    },
  );
});

it("mail goes to its server directly", async () => {
  const smtp = await startSmtp();
  await exit.leaveBy(goneProxy(OUTSIDE[0] ?? expect.fail()));
  await exit.set({ SMTPServer: "127.0.0.1", SMTPPort: String(smtp.port), SMTPFrom: "noreply@gate.example" });
  const { mailer } = exit.world.app.ctx;
  await mailer.post("ops@example.com", { subject: "hello", paragraphs: ["hello"] });
  expect((await smtp.take("ops@example.com")).subject).toBe("hello");
  await smtp.close();
});

it("there is no other place in the code where a call leaves that no path above has passed", () => {
  const others = egressSites().filter((site) => ROOMS.test(site) && !MAIL.test(site));
  expect(others.filter((site) => !seen.has(site))).toEqual([]);
});

it("the login of a proxy stands in no log and no table but the options", async () => {
  const { db } = exit.world.app.ctx;
  const rows = await Promise.all(
    (["logs", "audit", "payment_events", "alert_deliveries"] as const).map((table) =>
      db.selectFrom(table).selectAll().execute(),
    ),
  );
  expect(log.text()).not.toBe("");
  for (const secret of SECRETS) expect(log.text() + JSON.stringify(rows)).not.toContain(secret);
});

// Channels behind an outbound proxy that fails, end to end: whose fault it is, what rests, what is told of it (requirements C13, C14, C17). Every
// path of theirs by proxies of others is in `proxied-paths.test`.
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { RouteExplanation } from "#contract/route.ts";
import { explainRoute } from "#server/channels/explain.ts";
import { testChannel } from "#server/channels/probe.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import { addKeys, listSealedKeys, newKey } from "#server/store/channel-keys.ts";
import { type ProxyWorld, startHttpProxy } from "#test/emulators/proxies.ts";
import { makeCertificate } from "#test/seeds/certificate.ts";
import { HOST, named, PASSWORD, SECRETS, USER } from "#test/worlds/outside-proxies.ts";
import { type ChannelSeed, createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";
import { tlsUpstream } from "#test/worlds/tunnels.ts";

const world = createRelayWorld();

let proxy: ProxyWorld;
/** What the proxy says instead of opening a tunnel. */
let said: string | undefined;

beforeAll(async () => {
  proxy = await startHttpProxy({ login: `${USER}:${PASSWORD}`, says: () => said });
});
afterAll(() => proxy.close());
afterEach(() => {
  said = undefined;
  proxy.asked.length = 0;
});

const address = () => `http://${USER}:${PASSWORD}@127.0.0.1:${proxy.port}`;

async function addChannel(seed: ChannelSeed = {}, by = address()): Promise<number> {
  const id = await world.addChannel({ baseUrl: named(world.upstream.url), ...seed });
  await setProxy(id, by);
  return id;
}

async function setProxy(id: number, text: string): Promise<void> {
  const { db, secrets, candidates } = world.ctx;
  await db
    .updateTable("channels")
    .set({ proxy_sealed: sealProxy(secrets, text) })
    .where("id", "=", id)
    .execute();
  await candidates.reload();
}

const live = (id: number) => world.ctx.candidates.byId(id) ?? expect.fail("no such channel");
const statusOf = async (id: number) =>
  (await world.ctx.db.selectFrom("channels").select("status").where("id", "=", id).executeTakeFirstOrThrow())
    .status;

/** What administrators are told of the channel and of its keys. */
async function told(id: number) {
  const asked = { group: "default", model: QUESTION.model, format: "chat", teamId: 0, bytes: 0 } as const;
  const explained = await explainRoute(world.ctx, asked);
  const { channels } = RouteExplanation.parse(explained.told);
  return { channel: channels.find((one) => one.id === id), keys: explained.keys.get(id)?.keys };
}

describe("the option for all", () => {
  it("is asked where the channel says nothing, not where it says direct", async () => {
    await world.setOption("OutboundProxy", address());
    const id = await addChannel({}, "");
    expect((await world.ask(QUESTION)).status).toBe(200);
    expect(proxy.asked.length).toBe(1);
    await setProxy(id, "direct");
    expect((await world.ask(QUESTION)).status).toBe(502);
    expect(proxy.asked.length).toBe(1);
    await world.ctx.db.deleteFrom("options").where("key", "=", "OutboundProxy").execute();
    await world.ctx.options.reload();
  });
});

describe("a proxy that fails", () => {
  const REFUSAL = "content-length: 56\r\n\r\n" + '{"error":{"code":"invalid_api_key","message":"revoked"}}';

  it.each([
    ["407", `HTTP/1.1 407 Proxy Auth\r\n${REFUSAL}`],
    ["403", `HTTP/1.1 403 Forbidden\r\n${REFUSAL}`],
    ["401", `HTTP/1.1 401 Unauthorized\r\n${REFUSAL}`],
    ["502", `HTTP/1.1 502 Bad Gateway\r\n${REFUSAL}`],
    ["nothing but a reset", "reset"],
  ])(
    "with %s is to blame itself: after a hundred calls the channel is on, and no caller has paid",
    async (_, text) => {
      await world.setOption("AutomaticDisableChannelEnabled", "true");
      const id = await addChannel();
      said = text;
      const spent = await world.costOf(async () => {
        for (let call = 0; call < 100; call += 10) {
          const answers = await Promise.all(Array.from({ length: 10 }, () => world.ask(QUESTION)));
          for (const answer of answers) {
            const { status, code, message } = await errorOf(answer);
            expect([status, code, message.split(" (")[0]]).toEqual([502, "proxy_failed", "无法连接上游"]);
          }
        }
      });
      expect([spent.charged, spent.open]).toEqual([0, 0]);
      expect(await statusOf(id)).toBe(1);
      expect(world.upstream.journal).toEqual([]);
      const probe = await testChannel(world.ctx, live(id));
      expect(probe).toMatchObject({ ok: false, isDisabling: false });
      said = undefined;
      await setProxy(id, `${address()}?dns=proxy`);
      expect((await world.ask(QUESTION)).status).toBe(200);
      await world.setOption("AutomaticDisableChannelEnabled", "false");
    },
  );

  it("rests after three failures: its channels are passed over until one call has found it well", async () => {
    const other = await startHttpProxy({ says: () => said });
    const behind = await addChannel({ priority: 10 }, `http://127.0.0.1:${other.port}`);
    await world.addChannel({ priority: 0 });
    await world.setOption("RetryTimes", "1");
    said = "HTTP/1.1 503 Down\r\n\r\n";
    const isResting = () =>
      (world.ctx.egress.restingProxies()?.(live(behind).route, `http://${HOST}`) ?? 0) > 0;
    for (let call = 0; call < 3; call += 1) expect((await world.ask(QUESTION)).status).toBe(200);
    expect(isResting()).toBe(true);
    const asked = other.made();
    for (let call = 0; call < 5; call += 1) expect((await world.ask(QUESTION)).status).toBe(200);
    expect(other.made()).toBe(asked);
    await other.close();
  });
});

describe("without retries", () => {
  it("one failed proxy still lets the next channel serve, and a second ends the call", async () => {
    await world.setOption("RetryTimes", "0");
    said = "HTTP/1.1 503 Down\r\n\r\n";
    await addChannel({ priority: 3 });
    await addChannel({ priority: 2 }, `http://other:${PASSWORD}@127.0.0.1:${proxy.port}`);
    const last = await world.addChannel({ priority: 1 });
    const before = proxy.heads.length;
    const failed = await world.ask(QUESTION);
    expect([failed.status, (await errorOf(failed)).code]).toEqual([502, "proxy_failed"]);
    expect(proxy.heads.length - before).toBe(2);
    await world.ctx.db.updateTable("channels").set({ status: 2 }).where("priority", "=", 2).execute();
    await world.ctx.candidates.reload();
    const { log } = await world.costOf(() => world.ask(QUESTION));
    expect([log?.channel_id, proxy.heads.length - before]).toEqual([last, 3]);
  });
});

describe("keys that share the channel's proxy", () => {
  const gone = () => `http://${USER}-{key_hash}:${PASSWORD}@127.2.0.1:1`;
  it.each([
    ["refuses", "HTTP/1.1 503 Down\r\n\r\n", address],
    ["is gone", undefined, () => "http://127.2.0.2:1"],
    ["is gone, and tells keys apart", undefined, gone],
  ])("when it %s, are one way: the next call goes to the next channel", async (_, text, by) => {
    const { db, secrets, candidates } = world.ctx;
    const id = await addChannel({ priority: 10 }, by());
    const key = `sk-canary-second-of-${id}-0123456789`;
    const kept = { key_hash: secrets.hash(key), key_sealed: secrets.seal(key, "channels.key") };
    await db.transaction().execute((tx) => addKeys(tx, id, [{ ...newKey(1), ...kept }], 1));
    await candidates.reload();
    await world.addChannel({ priority: 0 });
    await world.setOption("RetryTimes", "1");
    said = text;
    for (let call = 0; call < 5; call += 1) expect((await world.ask(QUESTION)).status).toBe(200);
    // Soon it is passed over for that reason, and its keys are not to blame.
    expect((await told(id)).channel).toMatchObject({ verdict: "resting", rests: "proxy" });
    expect((await listSealedKeys(db, id)).map(({ status }) => status)).toEqual([1, 1]);
  });
});

describe("keys with proxies of their own, of which one is down", () => {
  /** A channel whose keys are behind these proxies, in this order; its first key is behind the first. `user` = what each is to them. */
  async function addKeyed(
    proxies: readonly ProxyWorld[],
    seed: ChannelSeed,
    user = (_at: number) => "",
  ): Promise<number> {
    const { db, secrets, candidates } = world.ctx;
    const id = await world.addChannel({ baseUrl: named(world.upstream.url), ...seed });
    const sealed = proxies.map(({ port }, at) => ({
      proxy_sealed: sealProxy(secrets, `http://${user(at)}127.0.0.1:${port}`),
    }));
    const rows = sealed.slice(1).map((own, at) => {
      const key = `sk-canary-${at}-of-${id}-0123456789`;
      const kept = { key_hash: secrets.hash(key), key_sealed: secrets.seal(key, "channels.key") };
      return { ...newKey(1), ...kept, ...own };
    });
    await db.transaction().execute((tx) => addKeys(tx, id, rows, 1));
    await db
      .updateTable("channel_keys")
      .set(sealed[0] ?? {})
      .where("channel_id", "=", id)
      .where("proxy_sealed", "=", "")
      .execute();
    await db.updateTable("channels").set({ key_mode: "first" }).where("id", "=", id).execute();
    await candidates.reload();
    return id;
  }

  it("at one place: after nothing answered there for one, a call tries no other of them", async () => {
    const [down, up] = [await startHttpProxy({ says: () => "reset" }), await startHttpProxy()];
    onTestFinished(async () => {
      await Promise.all([down.close(), up.close()]);
    });
    await world.setOption("RetryTimes", "3");
    const id = await addKeyed(Array(5).fill(down), { priority: 10 });
    await world.addChannel({ priority: 0 });
    const answered = async () => expect((await world.ask(QUESTION)).status).toBe(200);
    await answered();
    expect(down.made()).toBe(1);
    await world.ctx.db.updateTable("channels").set({ status: 2 }).where("id", "=", id).execute();
    // A key behind another proxy is tried, however many before it are at that place, each as a user of its own.
    const other = await startHttpProxy({ says: () => "reset" });
    onTestFinished(() => other.close());
    await addKeyed([...Array(6).fill(other), up], { priority: 10 }, (at) => `user-${at}:word@`);
    await answered();
    expect([other.made(), up.made()]).toEqual([1, 1]);
  });

  it("are passed over before they fail, until one call has found the proxy well; never disabled", async () => {
    const [down, up] = [await startHttpProxy({ says: () => said }), await startHttpProxy()];
    onTestFinished(async () => {
      vi.restoreAllMocks();
      await Promise.all([down.close(), up.close()]);
    });
    const id = await addKeyed([down, down, down, down, down, up], { priority: 10 });
    await world.addChannel({ priority: 0 });
    await world.setOption("RetryTimes", "3");
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    said = "HTTP/1.1 503 Down\r\n\r\n";
    const answered = async () => expect((await world.ask(QUESTION)).status).toBe(200);
    // Three of the keys fail, one after the other, and the other channel serves.
    await answered();
    expect([down.made(), up.made()]).toEqual([3, 0]);
    // The fourth and the fifth have not failed themselves.
    for (let call = 0; call < 5; call += 1) await answered();
    expect([down.made(), up.made() > 0]).toEqual([3, true]);
    const { keys = [] } = await told(id);
    expect(keys.map(({ verdict, rest }) => [verdict, rest?.why ?? ""])).toEqual([
      ["next", ""],
      ...Array.from({ length: 5 }, () => ["resting", "proxy"]),
    ]);
    expect(keys.every(({ verdict, rest }) => verdict === "next" || (rest?.untilMs ?? 0) > Date.now())).toBe(
      true,
    );
    // Without the key that works, the channel is passed over, for that reason.
    const good = keys.find(({ verdict }) => verdict === "next")?.id ?? 0;
    live(id).keys?.drop(good);
    const served = up.made();
    for (let call = 0; call < 5; call += 1) await answered();
    expect([down.made(), up.made()]).toEqual([3, served]);
    const { channel } = await told(id);
    expect(channel).toMatchObject({ verdict: "resting", rests: "proxy" });
    expect(channel?.until).toBeGreaterThan(Date.now() / 1_000);
    // Its rest is over: one call finds out that it is still down, and the other keys do not ask again.
    const nowMs = Date.now();
    const jump = (ms: number) => vi.spyOn(Date, "now").mockReturnValue(nowMs + ms);
    jump(10_500);
    for (let call = 0; call < 3; call += 1) await answered();
    expect(down.made()).toBe(4);
    // One call finds it well, and all go there.
    said = undefined;
    jump(31_000);
    await answered();
    expect(down.made()).toBe(5);
    jump(31_200);
    expect((await told(id)).channel).toMatchObject({ verdict: "next" });
    const states = await world.ctx.db
      .selectFrom("channel_keys")
      .select("status")
      .where("channel_id", "=", id)
      .execute();
    expect([await statusOf(id), states.map(({ status }) => status)]).toEqual([1, [1, 1, 1, 1, 1, 1]]);
    await world.setOption("AutomaticDisableChannelEnabled", "false");
  });
});

describe("pictures at addresses that a caller names", () => {
  /** Names and public addresses are this machine behind the proxy. */
  const picturesAt = (port: number, scheme: string) =>
    Array.from({ length: 4 }, (_, at) => ({
      type: "image_url",
      image_url: { url: `${scheme}://93.184.216.${at + 1}:${port}/a.png` },
    }));
  const look = (content: object[]) => world.ask({ ...QUESTION, messages: [{ role: "user", content }] });
  const restsMs = (id: number) => world.ctx.egress.restingProxies()?.(live(id).route, `http://${HOST}`) ?? 0;

  it.each([
    ["that are dead, where the proxy ends the connection", "http", undefined],
    ["that are dead, where the proxy says so", "http", "HTTP/1.1 502 Bad Gateway\r\n\r\n"],
    ["that the proxy does not allow", "http", "HTTP/1.1 403 Forbidden\r\n\r\n"],
    ["whose server speaks first", "http", "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n"],
    ["with a wrong certificate", "https", undefined],
  ])("%s are the caller's mistake, and no proxy rests", async (_, scheme, text) => {
    const own = await startHttpProxy({ says: () => said });
    const server = scheme === "https" ? await tlsUpstream(makeCertificate("other.example")) : undefined;
    const id = await addChannel({ type: 25, priority: 10 }, `http://127.0.0.1:${own.port}`);
    const beside = await startHttpProxy({ says: () => said });
    const other = await addChannel({ type: 25, priority: 0 }, `http://127.0.0.1:${beside.port}`);
    await world.setOption("RetryTimes", "3");
    said = text;
    for (let round = 0; round < 3; round += 1) {
      const { status, message } = await errorOf(await look(picturesAt(server?.port ?? 1, scheme)));
      expect([status, message]).toEqual([400, expect.stringContaining("无法读取该地址的图片或文件")]);
    }
    expect(own.made()).toBe(12);
    // An upstream that opens addresses itself might have taken them.
    expect([restsMs(id), restsMs(other)]).toEqual([0, 0]);
    expect(world.upstream.journal).toEqual([]);
    said = undefined;
    expect((await world.ask(QUESTION)).status).toBe(200);
    await own.close();
    await beside.close();
  });

  it("do not hide that the proxy itself fails", async () => {
    const own = await startHttpProxy({ login: "user:other" });
    const id = await addChannel({ type: 25 }, `http://user:pass@127.0.0.1:${own.port}`);
    await world.setOption("RetryTimes", "0");
    const { status, code } = await errorOf(await look(picturesAt(1, "http")));
    expect([status, code]).toEqual([502, "proxy_failed"]);
    expect(restsMs(id)).toBeGreaterThan(Date.now());
    await own.close();
    const gone = await addChannel({ type: 25, priority: 10 }, `http://user:pass@127.0.0.1:${own.port}`);
    expect((await errorOf(await look(picturesAt(1, "http")))).status).toBe(502);
    expect(restsMs(gone)).toBeGreaterThan(Date.now());
  });
});

describe("a proxy's address and credentials", () => {
  it("are in no answer, no log and no trail", async () => {
    const id = await addChannel();
    said = "HTTP/1.1 407 Proxy Auth\r\n\r\n";
    const answers = await Promise.all(Array.from({ length: 3 }, () => world.ask(QUESTION)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    const probe = await testChannel(world.ctx, live(id));
    const logs = await world.ctx.db.selectFrom("logs").selectAll().execute();
    const channels = await world.ctx.db.selectFrom("channels").selectAll().execute();
    const all = JSON.stringify([texts, probe, logs, channels]);
    for (const secret of SECRETS) expect(all).not.toContain(secret);
    expect(texts.join("")).not.toContain(String(proxy.port));
    expect(JSON.stringify(probe)).toContain("代理：用户名或密码被拒绝");
  });
});

// The world of the fuzz test: the whole server with emulators of everything it calls, and users that are made as the test goes on. No other
// outside server answers.
import { sql } from "kysely";
import type pino from "pino";
import type { JsonValue } from "#contract/openapi.ts";
import { optionTable } from "#contract/option.ts";
import { fakeClock } from "#server/clock.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { chatReply } from "#test/emulators/fake-upstream.ts";
import { type GithubEmulator, startGithub } from "#test/emulators/github-emulator.ts";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { startWeChat, type WeChatEmulator } from "#test/emulators/service-emulators.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import type { Hints } from "#test/seeds/schema-values.ts";
import { type SeededUser, seedPassword, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, rootAccess, type TestApp, type TestDatabase, type Who } from "./app.ts";
import { seedChannel } from "./stores.ts";

/** Texts that must stay where they are. */
export const canary = {
  channelKey: "sk-canary-channel-key-7f3a9b2c",
  otherKey: "canary-second-channel-8d4e1f",
  mail: "canary-smtp-token-11aa22",
  pusher: "canary-pusher-token-77dd88",
  turnstile: "canary-turnstile-secret-99ee00",
} as const;

export const callerNames = [
  "guest",
  "banned",
  "alice",
  "bob",
  "admin",
  "root",
  "session",
  "relay key",
  "unknown token",
] as const;
export type CallerName = (typeof callerNames)[number];

export interface FuzzWorld {
  readonly app: TestApp;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly github: GithubEmulator;
  readonly wechat: WeChatEmulator;
  readonly smtp: SmtpEmulator;
  readonly provider: HttpEmulator;
  close(): Promise<void>;
}

/** The end of a path → what is answered there, whatever is asked. */
const FIXED: readonly (readonly [string, object])[] = [
  ["/subscription", { hard_limit_usd: 10, has_payment_method: true }],
  ["/usage", { total_usage: 250 }],
  ["/models", { object: "list", data: [{ id: "some-model" }] }],
  ["/mapi.php", { code: 1, msg: "ok", trade_no: "4200", payurl: "/pay/4200" }],
  ["/v1/billing_portal/sessions", { url: "https://billing.stripe.com/p/1" }],
];

/** A channel's provider: answers chats, what is left of ten dollars, and its models; and payments, as far as calls need it. */
function startProvider(): Promise<HttpEmulator> {
  return startHttpEmulator(({ path, query, headers, body }) => {
    if (path.startsWith("/sso/"))
      return { json: { access_token: new URLSearchParams(body).get("code"), id: headers.authorization } };
    const fixed = FIXED.find(([end]) => path.endsWith(end));
    if (fixed) return { json: fixed[1] };
    if (path.startsWith("/v1/subscriptions/")) return { json: { livemode: false, customer: "cus_1" } };
    if (path === "/api.php") {
      // An order that has not been paid.
      const [pid, no] = [query.get("pid"), query.get("out_trade_no")];
      return { json: { code: 1, msg: "", pid, out_trade_no: no, status: 0 } };
    }
    return { json: chatReply("pong") };
  });
}

export async function createFuzzWorld(database: TestDatabase, logger: pino.Logger): Promise<FuzzWorld> {
  const clock = fakeClock();
  const [github, wechat, smtp, provider] = await Promise.all([
    startGithub(),
    startWeChat(clock.now),
    startSmtp(),
    startProvider(),
  ]);
  const app = await createAppOn(database, {
    clock,
    logger,
    env: { TRUSTED_PROXIES: "127.0.0.1", GITHUB_URL: github.url, GITHUB_API_URL: github.url },
  });
  const world: FuzzWorld = {
    app,
    clock,
    github,
    wechat,
    smtp,
    provider,
    async close() {
      await app.close();
      await Promise.all([github.close(), wechat.close(), smtp.close(), provider.close()]);
    },
  };
  closeTheOutside(world);
  await furnish(world);
  return world;
}

/** Lets calls through to the emulators; all others fail. */
function closeTheOutside({ app: { ctx }, github, wechat, provider }: FuzzWorld): void {
  const known = new Set([github, wechat, provider].map(({ url }) => new URL(url).origin));
  const send = ctx.egress.send.bind(ctx.egress);
  const closed: typeof send = (request, sink) => {
    if (known.has(request.origin)) return send(request, sink);
    queueMicrotask(() => sink.onFault({ code: "dns", detail: "fuzz" }));
    return { isSent: false, pause: () => undefined, resume: () => undefined, abort: () => undefined };
  };
  Object.assign(ctx.egress, { send: closed });
}

/** Options with secrets, and channels. */
async function furnish({ app: { ctx } }: FuzzWorld): Promise<void> {
  for (const [key, value] of [
    ["SMTPToken", canary.mail],
    ["MessagePusherToken", canary.pusher],
    ["TurnstileSecretKey", canary.turnstile],
  ] as const)
    await ctx.options.set(key, value);
  for (const [index, key] of [canary.channelKey, canary.otherKey].entries())
    await seedChannel(ctx.db, {
      type: index === 0 ? 1 : 8,
      key_hash: ctx.secrets.hash(key),
      key_sealed: ctx.secrets.seal(key, "channels.key"),
      base_url: "https://upstream.example",
    });
  await ctx.coord.publish("channels", "");
}

export interface Generation {
  readonly serial: number;
  readonly alice: SeededUser;
  readonly bob: SeededUser;
  readonly admin: SeededUser;
  readonly callers: Readonly<Record<CallerName, Who>>;
  readonly hints: Hints;
  /** Secrets of one user that no other may see. */
  readonly own: readonly { readonly secret: string; readonly owner: readonly CallerName[] }[];
}

/** A call that succeeds now. */
export interface Guided {
  readonly caller: CallerName;
  readonly path: string;
  readonly body?: object | undefined;
  /** Over the actor's own headers. */
  readonly headers?: Who;
}

export type Recipe = (world: FuzzWorld, people: Generation) => Promise<Partial<Guided>> | Partial<Guided>;

/** Options whose change would make the server call out in ways this test does not answer. */
const LEFT_ALONE = ["SMTPServer", "MessagePusherAddress", "WeChatServerAddress"];

/** New users with rows of their own. */
export async function newPeople({ app: { ctx, call } }: FuzzWorld, serial: number): Promise<Generation> {
  // Earlier calls may have asked for second factors and proofs, which access tokens never have.
  await ctx.options.set("MfaRequiredFor", "none");
  await ctx.options.set("StepUpForAllEnabled", "false");
  // An earlier call may have asked for another one.
  await updateUserProfile(ctx.db, 1, { access_token_hash: ctx.secrets.hash(rootAccess) });
  const alice = await seedUser(ctx, `a${serial}`);
  const bob = await seedUser(ctx, `b${serial}`);
  const admin = await seedUser(ctx, `m${serial}`, { role: 10 });
  const banned = await seedUser(ctx, `x${serial}`, { status: 2 });
  const [aliceKey, bobKey] = [await seedToken(ctx, alice.id), await seedToken(ctx, bob.id)];
  // Not through the login, which after many wrong passwords is closed to this address.
  const traits = { stepup_at: ctx.clock.seconds() };
  const session = { cookie: `session=${await ctx.sessions.start(alice.id, {}, { traits })}` };
  const code = await call(asRoot, "POST", "/api/redemption/", { name: `r${serial}`, quota: 1_000, count: 1 });
  const codes: string[] = Array.isArray(code.data) ? code.data : [];
  const ids = [1, 2, 3, alice.id, bob.id, aliceKey.id, bobKey.id];
  return {
    serial,
    alice,
    bob,
    admin,
    callers: {
      guest: {},
      banned: banned.who,
      alice: alice.who,
      bob: bob.who,
      admin: admin.who,
      root: asRoot,
      session,
      "relay key": { authorization: `Bearer sk-${aliceKey.key}` },
      "unknown token": { authorization: "0".repeat(32) },
    },
    hints: hintsOf(serial, ids, codes),
    own: [
      { secret: aliceKey.key, owner: ["alice", "session"] },
      { secret: bobKey.key, owner: ["bob"] },
      { secret: alice.who["authorization"] ?? "", owner: [] },
      { secret: bob.who["authorization"] ?? "", owner: [] },
      { secret: admin.who["authorization"] ?? "", owner: [] },
      { secret: rootAccess, owner: [] },
      { secret: seedPassword, owner: [] },
    ],
  };
}

/** What fields of these names should get now and then. */
function hintsOf(serial: number, ids: readonly JsonValue[], codes: readonly string[]): Hints {
  return {
    id: ids,
    user_id: ids,
    username: [`a${serial}`, `b${serial}`, `m${serial}`, "root", `n${serial}`],
    password: [seedPassword, "short", "a-good-password-1"],
    original_password: [seedPassword, "wrong-password-1"],
    action: ["enable", "disable", "delete", "promote", "demote"],
    key: [
      ...Object.keys(optionTable).filter((name) => !LEFT_ALONE.includes(name)),
      ...codes,
      "sk-new\nsk-other",
    ],
    value: ["true", "false", "0", "1", "{}", '{"default":1}', "https://example.com"],
    gift_code: ["", "NOPE", `A${serial}`],
    aff_code: ["", `A${serial}`],
    type: [0, 1, 1, 2, 3, 4, 8, 8, 30, 99],
    name: [`n${serial}`, "名称"],
    display_name: ["显示"],
    base_url: ["", "https://example.com"],
    model_mapping: ["", "{}", '{"a":"b"}'],
    config: ["", "{}"],
    other: ["", "x"],
    subnet: [""],
    quota: [0, 1_000, 500_000],
    remain_quota: [0, 5_000],
    count: [1, 3],
    expired_time: [-1, 4_000_000_000],
    weight: [0, 5],
    priority: [0, -3],
    status: [1, 2, 3],
    status_only: ["", "true"],
    scope: ["", "all", "disabled", "x"],
    group: ["default", "vip", "default,vip"],
    models: ["gpt-4o", "gpt-4o,claude-3"],
    p: ["0", "1", "-1", "1000000", "x"],
    size: ["10", "100", "0", "101", "x"],
    keyword: ["", "a", "%_%", "root", "1"],
    start_timestamp: ["0", "1", "1700000000", "-5"],
    end_timestamp: ["0", "1700000000", "99999999999999999999"],
    target_timestamp: ["0", "1", "99999999999"],
    verify: ["true", "false"],
    email: [`a${serial}@example.com`, "not-an-address", "x@qq.com"],
    order: ["id", "quota", "key_sealed", "id; DROP TABLE users"],
  };
}

/** All rows by table, but those of some tables, and what nodes tell of themselves. */
export async function dumpTables(
  { app: { ctx } }: FuzzWorld,
  except: readonly string[] = [],
): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const { name } of await ctx.db.introspection.getTables()) {
    if (name === "nodes" || except.includes(name)) continue;
    const { rows } = await sql`SELECT * FROM ${sql.table(name)}`.execute(ctx.db);
    found[name] = JSON.stringify(rows.map((row) => JSON.stringify(row)).sort());
  }
  return found;
}

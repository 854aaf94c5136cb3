// For each endpoint a call that succeeds: its actor, and what is made for it. The fuzz test makes each of them, and then spoils it.
import type { Endpoint } from "#contract/endpoint.ts";
import type { OptionKey } from "#contract/option.ts";
import { asRoot } from "#test/worlds/app.ts";
import type { FuzzWorld, Generation, Guided, Recipe } from "#test/worlds/fuzz-world.ts";
import { seedLimit } from "#test/worlds/limits.ts";
import { seedChannel } from "#test/worlds/stores.ts";
import { visit } from "#test/worlds/visitor.ts";
import { alertRecipes } from "./alert-recipes.ts";
import { channelKeyRecipes } from "./channel-key-recipes.ts";
import { factorRecipes } from "./factor-recipes.ts";
import { invoiceRecipes } from "./invoice-recipes.ts";
import { keyRecipes } from "./key-recipes.ts";
import { paymentDesk } from "./payment-recipes.ts";
import { payoutRecipes } from "./payout-recipes.ts";
import { planRecipes } from "./plan-recipes.ts";
import { priceRecipes } from "./price-recipes.ts";
import { seedPassword, seedToken, seedUser } from "./seed.ts";
import { signOnRecipes } from "./sign-on-recipes.ts";
import { staffRecipes } from "./staff-recipes.ts";
import { statementRecipes } from "./statement-recipes.ts";
import { taskRecipes } from "./task-recipes.ts";
import { teamRecipes } from "./team-recipes.ts";

const BY_LEVEL = { public: "guest", user: "alice", admin: "admin", root: "root" } as const;

/** The call of an endpoint that succeeds now. */
export async function guide(
  world: FuzzWorld,
  people: Generation,
  { endpoint, route }: { endpoint: Endpoint; route: string },
): Promise<Guided> {
  const made = await recipes[route]?.(world, people);
  // What a recipe names itself needs none, and opening codes is limited.
  const needsId = made?.path === undefined && endpoint.path.includes(":id");
  const id = needsId ? await freshId(world, people, endpoint.path) : 0;
  const path = endpoint.path.replace(":id", String(id));
  return { caller: BY_LEVEL[endpoint.level], path, ...made };
}

/** Something of this resource that nothing else needs. */
function freshId(world: FuzzWorld, people: Generation, path: string): Promise<number> {
  if (path.startsWith("/api/token")) return freshToken(world, people);
  if (path.startsWith("/api/limit")) return freshLimit(world);
  if (path.startsWith("/api/user")) return freshUser(world).then(({ id }) => id);
  return path.startsWith("/api/channel") ? freshChannel(world) : freshCode(world).then(({ id }) => id);
}

/** A run that an earlier call began may still go on, and there is one at a time. */
async function endOfRun({ app: { ctx } }: FuzzWorld, name: string): Promise<void> {
  const isFree = async () => (await ctx.coord.lock(name, async () => true)) === true;
  while (!(await isFree())) await new Promise((resolve) => setTimeout(resolve, 20));
}

let serial = 0;
function freshName(): string {
  serial += 1;
  return `z${serial}`;
}

const freshUser = ({ app }: FuzzWorld) => seedUser(app.ctx, freshName());

async function freshToken({ app }: FuzzWorld, { alice }: Generation): Promise<number> {
  return (await seedToken(app.ctx, alice.id)).id;
}

/** So large that it refuses nothing. */
async function freshLimit(world: FuzzWorld): Promise<number> {
  const { id } = await freshUser(world);
  return seedLimit(world.app.ctx, { subject: "user", subject_id: id, amount: 1_000_000_000 });
}

async function freshChannel({ app: { ctx }, provider }: FuzzWorld): Promise<number> {
  const key = `sk-canary-${freshName()}`;
  const id = await seedChannel(ctx.db, {
    type: 8,
    key_hash: ctx.secrets.hash(key),
    key_sealed: ctx.secrets.seal(key, "channels.key"),
    base_url: provider.url,
  });
  await ctx.coord.publish("channels", "");
  await ctx.candidates.pending;
  return id;
}

async function freshCode({ app }: FuzzWorld): Promise<{ id: number; key: string }> {
  await app.call(asRoot, "POST", "/api/redemption/", { name: "fresh", quota: 1_000, count: 1 });
  // A page of one code, the newest.
  const { data } = await app.call(asRoot, "GET", "/api/redemption/?size=1");
  return data[0];
}

/** What other calls may have changed and these need. */
async function set({ app: { ctx } }: FuzzWorld, values: Partial<Record<OptionKey, string>>): Promise<void> {
  for (const [key, value] of Object.entries(values)) {
    // The keys of the argument are option keys.
    await ctx.options.set(key as OptionKey, value);
  }
}

const openDoors = {
  PasswordLoginEnabled: "true",
  RegisterEnabled: "true",
  PasswordRegisterEnabled: "true",
  EmailVerificationEnabled: "false",
  EmailDomainRestrictionEnabled: "false",
  TurnstileCheckEnabled: "false",
} as const;

async function openMail(world: FuzzWorld): Promise<void> {
  await set(world, {
    ...openDoors,
    SMTPServer: "127.0.0.1",
    SMTPPort: String(world.smtp.port),
    SMTPAccount: "",
    SMTPFrom: "noreply@gate.example",
    ServerAddress: "https://gate.example",
  });
}

function openWeChat(world: FuzzWorld): Promise<void> {
  const { url, token } = world.wechat;
  return set(world, {
    ...openDoors,
    WeChatServerAddress: url,
    WeChatServerToken: token,
    WeChatAuthEnabled: "true",
  });
}

const payments = paymentDesk({ freshName, freshUser, set });

const recipes: Readonly<Record<string, Recipe>> = {
  ...factorRecipes(freshUser, set),
  ...priceRecipes(freshName),
  ...payments.recipes,
  ...planRecipes({ freshName, freshUser, ...payments.shop }),
  ...invoiceRecipes(freshUser),
  ...payoutRecipes(freshUser),
  ...statementRecipes(freshUser, freshName),
  ...staffRecipes,
  ...taskRecipes(freshChannel),
  ...teamRecipes(freshUser, freshName),
  ...channelKeyRecipes(freshChannel, freshName),
  ...keyRecipes(freshToken),
  "POST /api/user/login": async (world, { alice }) => {
    await set(world, openDoors);
    return { body: { username: alice.username, password: seedPassword } };
  },
  "POST /api/user/register": async (world) => {
    await set(world, openDoors);
    return { body: { username: freshName(), password: "a-good-password-1" } };
  },
  "GET /api/verification": async (world) => {
    await openMail(world);
    return { path: `/api/verification?email=${freshName()}@example.com` };
  },
  "GET /api/reset_password": async (world, { bob }) => {
    await openMail(world);
    return { path: `/api/reset_password?email=${bob.username}@example.com` };
  },
  "POST /api/user/reset": async (world) => {
    await openMail(world);
    const { username } = await freshUser(world);
    const email = `${username}@example.com`;
    await visit(world.app).call("GET", `/api/reset_password?email=${email}`);
    const { html } = await world.smtp.take(email);
    return { body: { email, token: /token=([\w-]+)/.exec(html)?.[1] ?? "" } };
  },
  "GET /api/oauth/github": async (world) => {
    const { clientId, clientSecret } = world.github;
    await set(world, {
      ...openDoors,
      GitHubClientId: clientId,
      GitHubClientSecret: clientSecret,
      GitHubOAuthEnabled: "true",
    });
    const browser = visit(world.app);
    const begun = await browser.call("GET", "/api/oauth/state");
    serial += 1;
    const { code, state } = world.github.agree(begun["url"], { id: 10_000 + serial, login: freshName() });
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return { path: `/api/oauth/github?code=${code}&state=${state}`, headers: { cookie } };
  },
  ...alertRecipes,
  ...signOnRecipes(set),
  "GET /api/oauth/wechat": async (world) => {
    await openWeChat(world);
    return { path: `/api/oauth/wechat?code=${world.wechat.tell(`follower-${freshName()}`)}` };
  },
  "GET /api/oauth/wechat/bind": async (world) => {
    await openWeChat(world);
    return { path: `/api/oauth/wechat/bind?code=${world.wechat.tell(`follower-${freshName()}`)}` };
  },
  "GET /api/oauth/email/bind": async (world, { alice }) => {
    await openMail(world);
    const email = `${freshName()}@example.com`;
    await visit(world.app).call("GET", `/api/verification?email=${email}`, undefined, { ...alice.who });
    const { html } = await world.smtp.take(email);
    const code = /<strong>(\d{6})<\/strong>/.exec(html)?.[1] ?? "";
    return { path: `/api/oauth/email/bind?email=${email}&code=${code}` };
  },
  // The answer replaces the actor's access token.
  "GET /api/user/token": async (world) => ({ headers: (await freshUser(world)).who }),
  "PUT /api/user/self": () => ({ body: { display_name: "显示" } }),
  "DELETE /api/user/self": async (world) => {
    await set(world, openDoors);
    const leaving = await freshUser(world);
    return { path: `/api/user/self?username=${leaving.username}`, headers: leaving.who };
  },
  "POST /api/user/": () => ({
    body: { username: freshName(), password: "a-good-password-1", display_name: "新用户" },
  }),
  "PUT /api/user/": async (world) => {
    const { id } = await freshUser(world);
    return { body: { id, quota: 700, display_name: "改名", group: "default", remark: "fuzz" } };
  },
  "POST /api/user/manage": async (world) => ({
    body: { username: (await freshUser(world)).username, action: "disable" },
  }),
  "POST /api/user/topup": async (world, { bob }) => ({
    body: { key: (await freshCode(world)).key, gift_code: bob.username.toUpperCase() },
  }),
  "POST /api/topup": (_, { alice }) => ({ body: { user_id: alice.id, quota: 5, remark: "fuzz" } }),
  "POST /api/user/withdrawal": async (world) => {
    const { id } = await freshUser(world);
    await world.app.ctx.ledger.changeCommission({
      userId: id,
      kind: "commission-adjust",
      micro: { delta: 200_000_000n },
      actorId: 1,
      reason: "fuzz",
    });
    return { body: { user_id: id, amount: "150.5", remark: "paid" } };
  },
  "POST /api/token/batch": () => ({
    body: { name: "many", count: 2, remain_quota: 5, expired_time: -1, unlimited_quota: false },
  }),
  "POST /api/token/": () => ({
    body: { name: "fresh", remain_quota: 5_000, expired_time: -1, unlimited_quota: false },
  }),
  "PUT /api/token/": async (world, people) => ({
    body: { id: await freshToken(world, people), name: "renamed", remain_quota: 7, expired_time: -1 },
  }),
  "PUT /api/token/:id/limit": () => ({
    body: {
      limits: [
        { kind: "rpm", amount: 900 },
        { kind: "quota", amount: 1_000_000, time_window: "day" },
      ],
    },
  }),
  "POST /api/limit/": async (world) => ({
    body: { subject: "user", subject_id: (await freshUser(world)).id, kind: "rpm", amount: 900 },
  }),
  "PUT /api/limit/": async (world) => ({
    body: { id: await freshLimit(world), kind: "quota", amount: 7, time_window: "week", mode: "soft" },
  }),
  "PUT /api/limit/:id/boost": ({ app }) => ({
    body: { amount: 100, until: app.ctx.clock.seconds() + 3_600, reason: "fuzz" },
  }),
  "POST /api/redemption/": () => ({ body: { name: "batch", quota: 1_000, count: 3 } }),
  "PUT /api/redemption/": async (world) => ({
    body: { id: (await freshCode(world)).id, name: "renamed", quota: 2_000 },
  }),
  "GET /api/channel/test": async (world) => {
    await endOfRun(world, "channel-tests");
    return { path: "/api/channel/test?scope=disabled" };
  },
  "POST /api/channel/upstream_models": ({ provider }) => ({
    body: { type: 8, key: `sk-canary-${freshName()}`, base_url: provider.url },
  }),
  "POST /api/channel/": ({ provider }) => ({
    body: {
      type: 8,
      name: "fresh",
      key: "sk-canary-fresh-1\nsk-canary-fresh-2",
      base_url: provider.url,
      models: "gpt-4o",
      group: "default",
    },
  }),
  "PUT /api/channel/": async (world) => ({ body: { id: await freshChannel(world), weight: 3, name: "x" } }),
  "DELETE /api/log/": () => ({ path: "/api/log/?target_timestamp=1" }),
  "PUT /api/option/": () => ({ body: { key: "Notice", value: "<b>hello</b>" } }),
};

// Looking at the console as another user (requirements Z24): who may, whom, for how long; every call of the table is made by a session that
// looks, and none of them changes a row or shows a secret.
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { InvoiceProfile } from "#contract/invoice.ts";
import { monthOf } from "#contract/month.ts";
import { VIEW_SEC } from "#contract/view-as.ts";
import { sealProfile } from "#server/payments/invoices.ts";
import { insertInvoice, saveInvoiceProfile } from "#server/store/invoices.ts";
import { assignStaffSet, insertStaffSet } from "#server/store/staff.ts";
import { guide } from "#test/seeds/fuzz-recipes.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import {
  canary,
  createFuzzWorld,
  dumpTables,
  type FuzzWorld,
  type Generation,
  newPeople,
} from "#test/worlds/fuzz-world.ts";
import { readPdf } from "#test/worlds/pdf-reader.ts";

const endpoints: readonly Endpoint[] = Object.values(api).flatMap((resource) =>
  Object.values<Endpoint>(resource),
);
const isWrite = ({ method, mutates }: Endpoint) => method !== "GET" || mutates === true;
/** What earlier calls spent is reminded of when there is time. */
const OF_THE_SERVER = ["quota_reminders"];
const REFUSED = "您正在以其他用户的身份查看，只能查看，不能操作";

describe.each(databases)("looking as another user on $name", (database) => {
  let world: FuzzWorld;
  let serial = 0;

  beforeAll(async () => {
    world = await createFuzzWorld(database, pino({ level: "silent" }));
  });
  afterAll(() => world.close());

  const call = (who: Who, method: string, path: string, body?: unknown) =>
    world.app.call(who, method, path, body);
  const someone = (fields: { role?: number; status?: number } = {}) =>
    seedUser(world.app.ctx, `view${++serial}`, fields);
  async function sessionOf(userId: number): Promise<Who> {
    const id = await world.app.ctx.sessions.start(userId, {}, {});
    return { cookie: `session=${id}` };
  }
  /** An administrator whose set holds these, signed in. */
  async function staffWith(...permissions: string[]): Promise<{ user: SeededUser; who: Who }> {
    const { ctx } = world.app;
    const user = await someone({ role: 10 });
    const set = await insertStaffSet(ctx.db, { name: `v${serial}`, permissions: permissions.join(",") }, 1);
    await assignStaffSet(ctx.db, user.id, set);
    await ctx.coord.publish("users", "");
    return { user, who: await sessionOf(user.id) };
  }
  const look = (who: Who, id: number) => call(who, "POST", `/api/user/${id}/view`);
  const selfOf = async (who: Who) => (await call(who, "GET", "/api/user/self")).data;
  const acts = async (targetId: number) =>
    (await call(asRoot, "GET", `/api/audit/?action=user&target=${targetId}`)).data
      .filter(({ action }: { action: string }) => action.startsWith("user.view"))
      .map(({ actor_name, action, detail }: Record<string, string>) => [actor_name, action, detail]);

  test("it takes the permission and a session, and is for lower ranks only", async () => {
    const user = await someone();
    const peer = await someone({ role: 10 });
    const { user: staff, who } = await staffWith("user.read", "user.view_as");
    const reader = await staffWith("user.read");
    expect(await look(reader.who, user.id)).toMatchObject({ message: "权限不够，无法执行该操作" });
    expect(await look(await sessionOf(user.id), peer.id)).toMatchObject({ success: false });
    for (const id of [peer.id, staff.id, 1]) expect(await look(who, id)).toMatchObject({ success: false });
    expect(await look(staff.who, user.id)).toMatchObject({ message: "请在控制台登录后使用" });
    const root = await sessionOf(1);
    const other = await someone({ role: 100 });
    for (const id of [1, other.id]) expect(await look(root, id)).toMatchObject({ success: false });
    expect(await selfOf(who)).toMatchObject({ id: staff.id });
    expect(await look(who, user.id)).toMatchObject({ success: true });
    expect(await look(root, peer.id)).toMatchObject({ success: true });
  });

  test("the console is the user's, with the name of who looks, until it is ended; both are in the audit log", async () => {
    const user = await someone();
    const { user: staff, who } = await staffWith("user.read", "user.view_as");
    const { key } = await seedToken(world.app.ctx, user.id, "shown");
    const until = world.clock.seconds() + VIEW_SEC;
    expect((await look(who, user.id)).data).toEqual({ until });
    const seen = await selfOf(who);
    expect(seen).toMatchObject({ id: user.id, viewer: { username: staff.username, until }, permissions: [] });
    const { data } = await call(who, "GET", "/api/token/");
    expect(data).toMatchObject([{ name: "shown", key: "" }]);
    expect((await call(user.who, "GET", "/api/token/")).data).toMatchObject([{ key }]);
    // Rights of who looks are none of the user's.
    expect(await call(who, "GET", "/api/user/")).toMatchObject({ message: "权限不够，无法执行该操作" });
    // Nor is it a second view from within the first.
    expect(await look(who, user.id)).toMatchObject({ message: REFUSED });
    // The user's own sessions know nothing of it.
    expect((await selfOf(await sessionOf(user.id))).viewer).toBeUndefined();
    expect(await call(who, "POST", "/api/user/view/end")).toMatchObject({ success: true });
    expect(await call(who, "POST", "/api/user/view/end")).toMatchObject({ success: true });
    expect(await selfOf(who)).toMatchObject({ id: staff.id });
    const detail = JSON.stringify({ username: user.username, until });
    expect(await acts(user.id)).toEqual([
      [staff.username, "user.view_end", ""],
      [staff.username, "user.view", detail],
    ]);
    const denied = await call(asRoot, "GET", `/api/audit/?action=auth.denied&actor_id=${user.id}`);
    expect(denied.data).toEqual([]);
  });

  test("it ends after half an hour, with the right to it, and with the session", async () => {
    const user = await someone();
    const { user: staff, who } = await staffWith("user.read", "user.view_as");
    await look(who, user.id);
    world.clock.advance((VIEW_SEC - 1) * 1000);
    expect(await selfOf(who)).toMatchObject({ id: user.id });
    world.clock.advance(1000);
    expect(await selfOf(who)).toMatchObject({ id: staff.id });
    expect(await selfOf(who)).toMatchObject({ id: staff.id });
    expect((await acts(user.id)).map(([, action, detail]: string[]) => [action, detail])).toEqual([
      ["user.view_end", '{"why":"expired"}'],
      ["user.view", expect.any(String)],
    ]);
    await look(who, user.id);
    await assignStaffSet(world.app.ctx.db, staff.id, 1);
    world.clock.advance(1_001);
    expect(await selfOf(who)).toMatchObject({ id: staff.id });
    expect(await look(who, user.id)).toMatchObject({ success: false });
    const again = await staffWith("user.read", "user.view_as");
    await look(again.who, user.id);
    await call(asRoot, "POST", "/api/user/session/end", { id: "", user_id: again.user.id });
    expect((await call(again.who, "GET", "/api/user/self")).status).toBe(401);
  });

  test("whom invoices are made out to is seen without the whole bank account, on all pages that tell it", async () => {
    const { ctx } = world.app;
    const user = await someone();
    const bank_account = "6225880212345678901";
    const profile = InvoiceProfile.parse({
      ...{ buyer: "company", kind: "special", title: "云上科技", tax_number: "91350100M000100Y43" },
      ...{ address: "福州", telephone: "0591-1", bank_name: "招商银行", bank_account, mail: "" },
    });
    const profile_sealed = sealProfile(ctx, profile);
    await saveInvoiceProfile(ctx.db, { user_id: user.id, profile_sealed, updated_at: 1 });
    await insertInvoice(ctx.db, {
      ...{ user_id: user.id, currency: "CNY", amount_minor: 100, profile_sealed, state: "requested" },
      ...{ number: "", link: "", note: "", actor_id: 0, created_at: 1, decided_at: 0, reverse_asked_at: 0 },
    });
    await ctx.ledger.adjust({
      userId: user.id,
      kind: "grant",
      quota: { delta: 5n },
      actorId: 1,
      reason: "test",
    });
    const month = monthOf(world.clock.seconds());
    const buyersFor = async (who: Who) => {
      const { data: desk } = await call(who, "GET", "/api/invoice/");
      const { data: statement } = await call(who, "GET", `/api/statement/${month}`);
      const { data: file } = await call(who, "GET", `/api/statement/${month}/pdf`);
      const { texts } = readPdf(Buffer.from(file.content, "base64"));
      return {
        buyers: [desk.profile, desk.rows[0].profile, statement.buyer],
        isPrinted: texts.some((text) => text.includes(bank_account)),
      };
    };
    const own = await buyersFor(user.who);
    expect(own).toEqual({ buyers: [profile, profile, profile], isPrinted: true });
    const { who } = await staffWith("user.read", "user.view_as");
    expect(await look(who, user.id)).toMatchObject({ success: true });
    const hidden = { ...profile, bank_account: "622****01" };
    expect(await buyersFor(who)).toEqual({ buyers: [hidden, hidden, hidden], isPrinted: false });
  });

  test("a disabled user's console can be looked at, and the session of who looks goes on", async () => {
    const user = await someone({ status: 2 });
    const { user: staff, who } = await staffWith("user.read", "user.view_as");
    expect(await look(who, user.id)).toMatchObject({ success: true });
    expect(await selfOf(who)).toMatchObject({ id: user.id, status: 2 });
    await call(who, "POST", "/api/user/view/end");
    expect(await selfOf(who)).toMatchObject({ id: staff.id });
  });

  test("it asks for a proof where such acts do", async () => {
    const user = await someone();
    const { who } = await staffWith("user.read", "user.view_as");
    await world.app.ctx.options.set("StepUpForAllEnabled", "true");
    expect(await look(who, user.id)).toMatchObject({ status: 403, code: "VERIFICATION_REQUIRED" });
    await world.app.ctx.options.set("StepUpForAllEnabled", "false");
  });

  interface Prepared {
    readonly endpoint: Endpoint;
    readonly path: string;
    readonly body: object | undefined;
  }
  const routeOf = ({ method, path }: Endpoint) => `${method} ${path}`;

  /** A call of each endpoint that succeeds for the one it is made for. */
  async function prepare(people: Generation): Promise<Prepared[]> {
    const calls: Prepared[] = [];
    for (const endpoint of endpoints.filter(({ endsView }) => !endsView)) {
      const { path, body } = await guide(world, people, { endpoint, route: routeOf(endpoint) });
      calls.push({ endpoint, path, body });
    }
    return calls;
  }

  /** Makes a call as who looks. Returns whether it was answered. */
  async function tryCall(who: Who, { endpoint, path, body }: Prepared, secrets: readonly string[]) {
    const answer = await call(who, endpoint.method, path, body);
    if (isWrite(endpoint)) expect(answer, routeOf(endpoint)).toMatchObject({ status: 403, message: REFUSED });
    const text = JSON.stringify(answer);
    const shown = secrets.filter((secret) => text.includes(secret));
    expect(shown, `${routeOf(endpoint)} shows a secret`).toEqual([]);
    return answer.success === true;
  }

  test.each([
    ["user", 25],
    ["administrator", 60],
  ] as const)(
    "no call of the table changes anything, or shows a secret, as a %s",
    async (kind, reads) => {
      const people = await newPeople(world, 900 + ++serial);
      const calls = await prepare(people);
      // Recipes may have asked for proofs and closed doors.
      await newPeople(world, 900 + ++serial);
      const target = kind === "user" ? people.alice : people.admin;
      const { key } = await seedToken(world.app.ctx, target.id, "secret");
      const secrets = [key, ...Object.values(canary), ...people.own.map(({ secret }) => secret)];
      const who = await sessionOf(1);
      expect(await look(who, target.id)).toMatchObject({ success: true });
      const before = await dumpTables(world, OF_THE_SERVER);
      let answered = 0;
      for (const one of calls) if (await tryCall(who, one, secrets)) answered += 1;
      expect(answered).toBeGreaterThan(reads);
      const after = await dumpTables(world, OF_THE_SERVER);
      for (const [name, rows] of Object.entries(before)) expect(after[name], name).toEqual(rows);
      expect(await selfOf(who)).toMatchObject({ id: target.id });
    },
    240_000,
  );
});

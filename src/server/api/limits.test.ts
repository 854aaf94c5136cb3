// Limits through the management API (requirements L07): owners limit their tokens, administrators everybody below them, and each sees what
// holds for him, with what is used.
import { afterAll, beforeAll, expect, test } from "vitest";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp, type Who } from "#test/worlds/app.ts";

let app: TestApp;
let owner: { id: number; who: Who };
let admin: { id: number; who: Who };
let tokenId = 0;

beforeAll(async () => {
  app = await createTestApp();
  owner = await seedUser(app.ctx, "owner");
  admin = await seedUser(app.ctx, "admin1", { role: 10 });
  tokenId = (await seedToken(app.ctx, owner.id)).id;
});
afterAll(() => app.close());

const DAY = { kind: "quota", amount: 1_000, time_window: "day" } as const;

test("an owner sets the limits of his token; what stays keeps its count, what is left out goes", async () => {
  const path = `/api/token/${tokenId}/limit`;
  const first = await app.call(owner.who, "PUT", path, { limits: [DAY, { kind: "rpm", amount: 5 }] });
  expect(first.data).toMatchObject([
    { ...DAY, subject: "token", used: 0 },
    { kind: "rpm", used: null },
  ]);
  const [day] = first.data;
  const requestId = "limits-api-1";
  const order = { requestId, userId: owner.id, tokenId, amount: 400n, modelName: "m", zone: "Asia/Shanghai" };
  expect(await app.ctx.ledger.reserve({ ...order, limits: [{ limitId: day.id, holder: 0 }] })).toBe(
    "reserved",
  );
  const second = await app.call(owner.who, "PUT", path, { limits: [{ ...DAY, id: day.id, amount: 2_000 }] });
  expect(second.data).toMatchObject([{ id: day.id, amount: 2_000, used: 400 }]);
  expect(second.data[0].resets_at).toBeGreaterThan(app.ctx.clock.seconds());
  // Another way of counting begins at zero, and the call that is running settles where it was reserved.
  const third = await app.call(owner.who, "PUT", path, {
    limits: [{ ...DAY, id: day.id, time_window: "week" }],
  });
  expect(third.data).toMatchObject([{ id: day.id, used: 0 }]);
  await app.ctx.ledger.release(requestId);
  expect((await app.call(owner.who, "PUT", path, { limits: [] })).data).toEqual([]);
  const strangers = await app.call(admin.who, "PUT", path, { limits: [] });
  expect(strangers).toMatchObject({ success: false, message: "找不到该令牌" });
});

test("an administrator limits users below him, groups and models, and raises a limit once for a while, with a reason", async () => {
  const draft = { subject: "user", subject_id: owner.id, ...DAY };
  const { data: limit } = await app.call(admin.who, "POST", "/api/limit/", draft);
  expect(limit).toMatchObject({ ...draft, boost_amount: 0 });
  for (const subject_id of [1, admin.id])
    expect(await app.call(admin.who, "POST", "/api/limit/", { ...draft, subject_id })).toMatchObject({
      success: false,
    });
  const until = app.ctx.clock.seconds() + 60;
  const boost = (body: object) =>
    app.call(admin.who, "PUT", `/api/limit/${limit.id}/boost`, { reason: "赶工", ...body });
  expect((await boost({ amount: 5, until: 1 })).message).toBe("结束时间须在将来");
  expect((await boost({ amount: 500, until })).data).toMatchObject({ boost_amount: 500, boost_until: until });
  expect((await boost({ amount: 500, until })).message).toBe("该限额已在临时提高中，请先结束");
  expect((await boost({ amount: 0, until: 0 })).data).toMatchObject({ boost_amount: 0, boost_until: 0 });
  const { data: rows } = await app.call(asRoot, "GET", "/api/audit/?action=limit.boost");
  expect(rows[0].detail).toContain("赶工");
  await app.call(admin.who, "POST", "/api/limit/", {
    subject: "member",
    subject_name: "default",
    kind: "calls",
    amount: 9,
    time_window: "day",
  });
  await app.call(admin.who, "POST", "/api/limit/", {
    subject: "all",
    model_pattern: "gpt-*",
    kind: "tpm",
    amount: 99,
  });
  const { data: mine } = await app.call(owner.who, "GET", "/api/limit/self");
  expect(mine.map(({ subject, used }: { subject: string; used: number }) => [subject, used])).toEqual([
    ["user", 0],
    ["member", 0],
    ["all", null],
  ]);
  expect(
    (await app.call(admin.who, "GET", `/api/limit/?subject=user&subject_id=${owner.id}`)).data,
  ).toHaveLength(1);
  for (const { id } of (await app.call(admin.who, "GET", "/api/limit/")).data)
    await app.call(admin.who, "DELETE", `/api/limit/${id}`);
  expect((await app.call(owner.who, "GET", "/api/limit/self")).data).toEqual([]);
});

test("a limit says what it is of, what running calls hold, in which zone it counts, and that it is too small for any call", async () => {
  const path = `/api/token/${tokenId}/limit`;
  const { data } = await app.call(owner.who, "PUT", path, { limits: [DAY, { kind: "quota", amount: 499 }] });
  const requestId = "limits-api-2";
  const order = { requestId, userId: owner.id, tokenId, amount: 300n, modelName: "m", zone: "Asia/Shanghai" };
  await app.ctx.ledger.reserve({ ...order, limits: [{ limitId: data[0].id, holder: 0 }] });
  const { data: rows } = await app.call(owner.who, "GET", "/api/limit/self");
  const { data: token } = await app.call(owner.who, "GET", `/api/token/${tokenId}`);
  expect(rows).toMatchObject([
    { used: 300, reserved: 300, subject_label: token.name, time_zone: "Asia/Shanghai", is_small: false },
    { used: 0, reserved: 0, is_small: true },
  ]);
  await app.ctx.ledger.release(requestId);
  await app.call(owner.who, "PUT", path, { limits: [] });
});

test("a limit for a group that no user has and no ratio names is refused with the name", async () => {
  const draft = { subject: "group", subject_name: "vpi", kind: "rpm", amount: 5 };
  expect((await app.call(admin.who, "POST", "/api/limit/", draft)).message).toBe(
    "没有名为“vpi”的分组，也没有用户属于它",
  );
  await seedUser(app.ctx, "odd", { group: "vpi" });
  const { data: limit } = await app.call(admin.who, "POST", "/api/limit/", draft);
  expect(limit).toMatchObject({ subject: "group", subject_name: "vpi" });
  await app.call(admin.who, "DELETE", `/api/limit/${limit.id}`);
});

test.each([
  [{ kind: "rpm", amount: -1 }],
  [{ kind: "rpm", amount: 1, mode: "soft" }],
  [{ kind: "quota", amount: 1, mode: "clamp" }],
  [{ kind: "quota", amount: 1, model_pattern: "*gpt" }],
  [{ kind: "quota", amount: 1, time_window: "month", anchor: 32 }],
  [{ kind: "quota", amount: 1, id: 4_711 }],
  [{ kind: "unknown", amount: 1 }],
])("%j is refused", async (draft) => {
  const answer = await app.call(owner.who, "PUT", `/api/token/${tokenId}/limit`, { limits: [draft] });
  expect(answer.success).toBe(false);
});

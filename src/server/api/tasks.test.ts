// Tasks in the console: an owner sees and cancels his own, administrators see all and end any (requirements C52, C57, P06).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { seedTask } from "#test/seeds/task.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

describe.each(databases)("tasks on $name", (database) => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let channel = 0;
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    app = await createAppOn(database);
    upstream = await createFakeUpstream();
    closers.push(
      () => app.close(),
      () => upstream.close(),
    );
    const draft = {
      type: 8,
      name: "甲",
      key: "k",
      base_url: upstream.url,
      models: "sora-2",
      group: "default",
    };
    await app.call(asRoot, "POST", "/api/channel/", draft);
    channel = app.ctx.candidates.all()[0]?.id ?? 0;
  });
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  const rowOf = (id: number) =>
    app.ctx.db.selectFrom("tasks").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

  test("are a user's own, without the channel; administrators see all of them with it", async () => {
    const one = await seedUser(app.ctx, "one");
    const other = await seedUser(app.ctx, "other");
    const mine = await seedTask(app.ctx, { user_id: one.id, channel_id: channel });
    const failed = { state: "failed", outcome: "refund", is_booked: 1, code: "timeout" } as const;
    const message = "上游未在期限内完成任务，未收费";
    const ended = await seedTask(app.ctx, { user_id: one.id, channel_id: channel }, { ...failed, message });
    const paid = { state: "completed", outcome: "charge", charge: 250_000 } as const;
    const unbooked = await seedTask(app.ctx, { user_id: one.id, channel_id: 0 }, paid);
    const hidden = await seedTask(
      app.ctx,
      { user_id: one.id, channel_id: channel },
      { ...failed, deleted_at: 1 },
    );
    const own = await app.call(one.who, "GET", "/api/task/self/");
    expect(own.data.map(({ id }: { id: number }) => id)).toEqual([unbooked, ended, mine]);
    expect(own.total).toBe(3);
    expect(own.data[2]).toMatchObject({
      state: "in_progress",
      asked: "5 s · 1080p",
      channel: 0,
      channel_name: "",
    });
    // What is decided and not booked still runs.
    expect(own.data[0]).toMatchObject({ state: "in_progress", is_ended: false, quota: 0 });
    expect(own.data[1]).toMatchObject({ state: "failed", is_ended: true, message });
    const english = { ...one.who, "accept-language": "en" };
    const told = await app.call(english, "GET", "/api/task/self/");
    expect(told.data[1].message).toBe("The upstream did not finish the task in time; nothing was charged");
    await app.ctx.db.updateTable("tasks").set({ is_booked: 1 }).where("id", "=", unbooked).execute();
    const after = await app.call(one.who, "GET", "/api/task/self/?open=true");
    expect(after.data.map(({ id }: { id: number }) => id)).toEqual([mine]);
    expect((await app.call(other.who, "GET", "/api/task/self/")).data).toEqual([]);
    const all = await app.call(asRoot, "GET", "/api/task/?size=100");
    expect(all.data).toHaveLength(4);
    expect(all.data.at(-1)).toMatchObject({ id: mine, username: "one", channel, channel_name: "甲" });
    expect(all.data[1]).toMatchObject({ id: unbooked, quota: 250_000, is_ended: true, channel_name: "" });
    expect(all.data[0].id).toBe(hidden);
  });

  test("are cancelled by their owner where the upstream takes it, and by administrators in any case", async () => {
    const one = await seedUser(app.ctx, "canceller");
    const other = await seedUser(app.ctx, "stranger");
    const seed = () => seedTask(app.ctx, { user_id: one.id, channel_id: channel });
    const [first, second] = [await seed(), await seed()];
    const cancel = (who: typeof one.who, id: number) => app.call(who, "POST", `/api/task/self/${id}/cancel`);
    upstream.script(json({ error: { message: "running" } }, 409));
    expect(await cancel(other.who, first)).toMatchObject({ success: false, message: "找不到该任务" });
    expect(await cancel(one.who, first)).toMatchObject({ success: false });
    expect(await rowOf(first)).toMatchObject({ outcome: "", is_booked: 0 });
    const forced = await app.call(asRoot, "POST", `/api/task/${first}/cancel`);
    expect(forced.success).toBe(true);
    expect(await rowOf(first)).toMatchObject({ state: "cancelled", outcome: "refund", is_booked: 1 });
    upstream.script(json({ id: "up-1", status: "cancelled" }));
    expect(await cancel(one.who, second)).toMatchObject({ success: true });
    expect(await cancel(one.who, second)).toMatchObject({ success: false, message: "该任务已经结束" });
    expect(await app.call(asRoot, "POST", `/api/task/${second}/cancel`)).toMatchObject({ success: false });
    expect(await app.call(asRoot, "POST", "/api/task/999999/cancel")).toMatchObject({ success: false });
    const acts = await app.ctx.db
      .selectFrom("audit")
      .selectAll()
      .where("action", "=", "task.cancel")
      .execute();
    expect(acts).toMatchObject([{ target: String(first) }]);
  });
});

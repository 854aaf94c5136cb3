// What becomes of videos: by what their upstreams say, with the channel and key that made them, when they are cancelled (requirements C31,
// C52, C54).
import { describe, expect, it } from "vitest";
import { addKeys, listSealedKeys, newKey, removeKeys } from "#server/store/channel-keys.ts";
import { forgetTasks } from "#server/tasks/poll.ts";
import { json, raw, reset, type Step } from "#test/emulators/fake-upstream.ts";
import {
  createVideoWorld,
  done,
  OPENAI,
  read,
  started,
  VIDEO_MODEL,
  VIDEO_PRICE,
} from "#test/worlds/video-world.ts";

const { world, sweep, get, send, submitted, rowOf, books } = createVideoWorld();

describe("what the upstream says", () => {
  const submitAnd = async (...steps: Step[]) => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started, ...steps);
    return submitted();
  };

  it("a failure costs nothing and is told", async () => {
    const { charged, open, entries } = await world.costOf(async () => {
      const id = await submitAnd(
        json({ status: "failed", error: { code: "moderation", message: "no \u0000cats" } }),
      );
      await sweep();
      const { status, error } = await read(await get(`/v1/videos/${id}`));
      expect({ status, error }).toEqual({
        status: "failed",
        error: { code: "moderation", message: "no cats" },
      });
    });
    expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
  });

  it.each<[string, Step]>([
    ["an unknown word", json({ id: "up-1", status: "finished!" })],
    ["HTML", raw("<html>", { "content-type": "text/html" })],
    ["429", json({ error: { message: "slow" } }, 429)],
    ["500", json({}, 500)],
    ["a broken connection", reset],
    ["an empty object", json({})],
  ])("%s ends nothing before the deadline, and then costs nothing", async (_, step) => {
    const id = await submitAnd(step);
    for (let n = 0; n < 4; n += 1) await sweep();
    expect(await rowOf(id)).toMatchObject({ outcome: "", is_booked: 0 });
    expect((await world.money()).open).toBe(1);
    await sweep({ deadline_at: 1 });
    expect(await rowOf(id)).toMatchObject({ state: "failed", code: "timeout", is_booked: 1 });
    expect((await world.money()).open).toBe(0);
    // Success after that changes nothing.
    world.upstream.script(done);
    await sweep();
    expect(await rowOf(id)).toMatchObject({ state: "failed", charge: 0 });
  });

  it("404 three times in a row is the end; twice is not", async () => {
    const lost = json({ error: { message: "no such video" } }, 404);
    const id = await submitAnd(lost, lost, json({ id: "up-1", status: "queued" }), lost);
    for (let n = 0; n < 5; n += 1) await sweep();
    expect(await rowOf(id)).toMatchObject({ outcome: "", misses: 2 });
    await sweep();
    expect(await rowOf(id)).toMatchObject({ state: "failed", code: "task_lost", is_booked: 1 });
    expect((await world.money()).open).toBe(0);
  });

  it.each<[string, Step]>([
    ["500", json({}, 500)],
    ["an unknown word", json({ id: "up-1", status: "finished!" })],
  ])("404 that comes in turn with %s is not three times in a row", async (_, other) => {
    const lost = json({ error: { message: "no such video" } }, 404);
    const id = await submitAnd(lost, lost, other, lost, other, lost, lost, done);
    for (let n = 0; n < 7; n += 1) await sweep();
    expect(await rowOf(id)).toMatchObject({ outcome: "", misses: 2 });
    await sweep();
    expect(await rowOf(id)).toMatchObject({ state: "completed", is_booked: 1 });
  });

  it("whose upstream's name for it does not open any more ends at its deadline, and costs nothing", async () => {
    const id = await submitAnd(done);
    await world.ctx.db.updateTable("tasks").set({ upstream_sealed: "v1:of another master key" }).execute();
    await sweep();
    expect(await rowOf(id)).toMatchObject({ outcome: "" });
    await sweep({ deadline_at: 1 });
    expect(await rowOf(id)).toMatchObject({
      state: "failed",
      code: "timeout",
      outcome: "refund",
      is_booked: 1,
    });
    expect((await world.money()).open).toBe(0);
  });

  it("done, decided and not booked is booked by the job or the client's look that finds it, once", async () => {
    const id = await submitAnd(done);
    await sweep();
    const { entries } = await books();
    await world.ctx.db.updateTable("tasks").set({ is_booked: 0 }).execute();
    // Not all is there yet: its owner does not see it as done.
    expect((await read(await get(`/v1/videos/${id}`))).status).toBe("in_progress");
    await Promise.all([sweep(), sweep()]);
    expect((await read(await get(`/v1/videos/${id}`))).status).toBe("completed");
    expect((await books()).entries).toBe(entries);
  });

  it("is forgotten after a month", async () => {
    const id = await submitAnd(done);
    await sweep();
    expect(await forgetTasks(world.ctx)).toBe(0);
    await world.ctx.db.updateTable("tasks").set({ ended_at: 1 }).execute();
    expect(await forgetTasks(world.ctx)).toBe(1);
    expect((await get(`/v1/videos/${id}`)).status).toBe(404);
  });
});

describe("the channel and the key", () => {
  const sealed = (key: string) => ({
    ...newKey(1_800_000_000),
    key_hash: world.ctx.secrets.hash(key),
    key_sealed: world.ctx.secrets.seal(key, "channels.key"),
  });

  it("that made it are asked, whatever else there is; a key that is gone is a clear failure, and refunded", async () => {
    const { db, candidates } = world.ctx;
    const id = await world.addChannel({ models: VIDEO_MODEL, type: OPENAI, key: "sk-first-key-0123456789" });
    const keys = ["sk-other-key-0123456789", "sk-third-key-0123456789"].map(sealed);
    await db.transaction().execute((tx) => addKeys(tx, id, keys, 1_800_000_000));
    await db.updateTable("channels").set({ key_mode: "round_robin" }).where("id", "=", id).execute();
    await candidates.reload();
    for (let n = 0; n < 3; n += 1) {
      world.upstream.script(started, json({ id: "up-1", status: "queued" }));
      await submitted();
    }
    await candidates.reload();
    for (let n = 0; n < 3; n += 1) await sweep();
    const used = new Map<string, Set<string | undefined>>();
    const rows = await db.selectFrom("tasks").select(["key_id"]).execute();
    expect(new Set(rows.map(({ key_id }) => key_id)).size).toBe(3);
    for (const { method, headers } of world.upstream.journal)
      used.set(method, (used.get(method) ?? new Set()).add(headers.authorization));
    expect([used.get("POST")?.size, used.get("GET")?.size]).toEqual([3, 3]);
    const [first] = rows;
    await db.transaction().execute((tx) => removeKeys(tx, id, [first?.key_id ?? 0], 1_800_000_000));
    await candidates.reload();
    await sweep();
    const ended = await db.selectFrom("tasks").selectAll().where("is_booked", "=", 1).execute();
    expect(ended).toMatchObject([{ key_id: first?.key_id, code: "channel_gone", outcome: "refund" }]);
    expect((await listSealedKeys(db, id)).length).toBe(2);
    // The channel goes.
    await world.clearChannels();
    await sweep();
    expect((await world.money()).open).toBe(0);
  });

  it("that had one key is asked with that one when it has more by now", async () => {
    const { db, candidates } = world.ctx;
    const own = "sk-first-key-0123456789";
    const id = await world.addChannel({ models: VIDEO_MODEL, type: OPENAI, key: own });
    world.upstream.script(started, done, json({ id: "up-1", status: "completed" }));
    const task = await submitted();
    const more = ["sk-other-key-0123456789", "sk-third-key-0123456789"].map(sealed);
    await db.transaction().execute((tx) => addKeys(tx, id, more, 1_800_000_000));
    await candidates.reload();
    await sweep();
    expect(await rowOf(task)).toMatchObject({ state: "completed", outcome: "charge", is_booked: 1 });
    expect((await get(`/v1/videos/${task}/content`)).status).toBe(200);
    const used = world.upstream.journal.map(({ headers }) => headers.authorization);
    expect(used).toEqual(Array(3).fill(`Bearer ${own}`));
  });

  it("is asked about it though it is switched off", async () => {
    const id = await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started, done);
    const task = await submitted();
    await world.ctx.db.updateTable("channels").set({ status: 2 }).where("id", "=", id).execute();
    await world.ctx.candidates.reload();
    await sweep();
    expect(await rowOf(task)).toMatchObject({ state: "completed", is_booked: 1 });
  });
});

describe("cancelling", () => {
  it("asks the upstream, and returns all that was set aside", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started, json({ id: "up-1", status: "cancelled" }));
    const { charged, open } = await world.costOf(async () => {
      const id = await submitted();
      const answer = await send("POST", `/v1/videos/${id}/cancel`);
      expect([answer.status, await read(answer)]).toMatchObject([
        200,
        { status: "failed", error: { code: "cancelled" } },
      ]);
      expect((await send("POST", `/v1/videos/${id}/cancel`)).status).toBe(409);
    });
    expect([charged, open, world.upstream.journal[1]?.path]).toEqual([0, 0, "/v1/videos/up-1/cancel"]);
  });

  it("is refused where the upstream goes on: then it costs what it costs", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started, json({ error: { message: "no such path" } }, 404), done);
    const { charged } = await world.costOf(async () => {
      const id = await submitted();
      expect((await send("DELETE", `/v1/videos/${id}`)).status).toBe(409);
      await sweep();
    });
    expect(charged).toBe(VIDEO_PRICE);
  });
});

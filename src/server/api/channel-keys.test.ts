// The keys of a channel through the management API: pasted in any form, once each, and never told again (requirements C29).
import { describe, expect, test } from "vitest";
import type { ChannelKey, KeyPreview } from "#contract/channel-key.ts";
import { csvText } from "#contract/csv.ts";
import { dueKeys, noteProbe } from "#server/store/channel-keys.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { channelWorld } from "#test/worlds/channel-world.ts";

const FIRST = "sk-canary-first-0123456789";
const name = (index: number) => `sk-canary-pasted-${String(index).padStart(6, "0")}`;

describe.each(databases)("the keys of a channel on $name", (database) => {
  const world = channelWorld(database);
  const addChannel = (key = FIRST) => world.add({ key, models: "gpt-4o" });
  const call = (method: string, path: string, body?: unknown) =>
    world.app.call(world.admin.who, method, path, body);
  const paste = async (id: number, text: string, path = "") =>
    (await call("POST", `/api/channel/${id}/keys${path}`, { text })).data as KeyPreview;
  const list = async (id: number, query = "") => {
    const answer = await call("GET", `/api/channel/${id}/keys?size=100${query}`);
    return { rows: answer.data as ChannelKey[], answer };
  };

  test("are added once each: lines with blanks, CRLF and repeats, a JSON list, CSV", async () => {
    const id = await addChannel();
    const other = await addChannel(name(9));
    const lines = `\r\n ${name(1)} \r\n\r\n${name(2)}\r\n${name(1)}\r\n${FIRST}\r\n${name(9)}\r\n`;
    const expected = {
      fresh: 3,
      known: 1,
      repeated: 1,
      elsewhere: 1,
      elsewhere_channels: [other],
      malformed: 0,
    };
    expect(await paste(id, lines, "/preview")).toMatchObject(expected);
    expect((await list(id)).rows).toEqual([]);
    expect(await paste(id, lines)).toMatchObject(expected);
    expect((await list(id)).rows).toHaveLength(4);
    expect(await paste(id, JSON.stringify([name(3), name(2)]))).toMatchObject({ fresh: 1, known: 1 });
    const csv = `key,name,weight,proxy\n${name(4)},backup,7,socks4://u:canary-password@proxy.example:9\n`;
    expect(await paste(id, csv, "/preview")).toMatchObject({ malformed: 1, malformed_lines: [{ line: 2 }] });
    expect(await paste(id, `key,name,weight\n${name(4)},backup,7\n`)).toMatchObject({ fresh: 1 });
    const { rows, answer } = await list(id);
    expect(rows.at(-1)).toMatchObject({ name: "backup", weight: 7, status: 1, used_quota: 0 });
    expect(answer).toMatchObject({ total: 6, enabled: 6, auto_disabled: 0 });
    // Their ends tell the operator which they are in the provider's own list.
    expect(rows.every(({ tail }) => /^\w{4}$/.test(tail))).toBe(true);
    expect(rows.at(-1)?.tail).toBe(name(4).slice(-4));
    // Nothing more of a key is told: not here, not in the audit log.
    const trail = await world.app.ctx.db.selectFrom("audit").selectAll().execute();
    const stored = await world.app.ctx.db.selectFrom("channel_keys").selectAll().execute();
    expect(JSON.stringify([rows, trail, stored])).not.toContain("canary");
    expect((await call("POST", `/api/channel/${id}/keys`, { text: name(1) })).success).toBe(false);
  });

  test("are disabled, enabled, changed, tested and deleted; the channel goes and comes with its last one", async () => {
    const id = await addChannel();
    await paste(id, `${name(21)}\n${name(22)}`);
    const ids = (await list(id)).rows.map((row) => row.id);
    const [first = 0, second = 0] = ids;
    expect((await call("PUT", `/api/channel/${id}/keys`, { ids: [first], status: 2 })).data).toBe(1);
    expect((await list(id, "&status=2")).rows.map((row) => row.id)).toEqual([first]);
    // The first enabled key stands in the channel's own row.
    const { secrets, db } = world.app.ctx;
    const rowOf = () => db.selectFrom("channels").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    expect(await rowOf()).toMatchObject({ key_hash: secrets.hash(name(21)), status: 1 });
    await call("PUT", `/api/channel/${id}/keys`, { ids, status: 2 });
    expect(await rowOf()).toMatchObject({ status: 3 });
    // A disabled key can be tested too.
    world.upstream.script(json(chatReply("hello")));
    const tested = await call("POST", `/api/channel/${id}/keys/test`, { key_id: second });
    expect(tested).toMatchObject({ success: true, message: "hello" });
    expect(world.upstream.journal.at(-1)?.headers.authorization).toBe(`Bearer ${name(21)}`);
    await call("PUT", `/api/channel/${id}/keys`, { ids, status: 1, weight: 5, models: "gpt-4o" });
    expect(await rowOf()).toMatchObject({ status: 1, status_reason: "" });
    expect((await list(id)).rows[0]).toMatchObject({ weight: 5, models: "gpt-4o" });
    await db
      .updateTable("channel_keys")
      .set({ status: 3, status_reason: "status 401" })
      .where("id", "=", first)
      .execute();
    const gone = { status: 3, reason: "status 401" };
    expect((await call("POST", `/api/channel/${id}/keys/delete`, gone)).data).toBe(1);
    expect((await call("POST", `/api/channel/${id}/keys/delete`, { ids })).message).toBe(
      "至少要保留一个密钥",
    );
    expect((await list(id)).rows).toHaveLength(2);
    expect((await call("PUT", "/api/channel/", { id, key: "sk-another-0123456789" })).success).toBe(false);
    expect((await call("PUT", "/api/channel/", { id, key_mode: "weighted" })).data).toMatchObject({
      has_keys: true,
      key_mode: "weighted",
      key: "",
    });
    const copied = (await call("POST", `/api/channel/copy/${id}`)).data as { id: number };
    expect((await list(copied.id)).rows).toHaveLength(2);
    await call("DELETE", `/api/channel/${id}`);
    expect(await db.selectFrom("channel_keys").select("id").where("channel_id", "=", id).execute()).toEqual(
      [],
    );
  });

  test("with a blank within are malformed: a remark or a second key came along; blanks around parts are not", async () => {
    const id = await addChannel();
    const lines = [
      `${name(41)} # Zhang's`,
      `Bearer ${name(42)}`,
      `${name(43)} | part`,
      `${name(44)}\t${name(45)}`,
    ];
    const reason = "密钥中间有空格，请检查是否粘贴完整";
    expect(await paste(id, lines.join("\n"), "/preview")).toMatchObject({
      ...{ fresh: 2, malformed: 2 },
      malformed_lines: [
        { line: 1, reason },
        { line: 4, reason },
      ],
    });
  });

  test("have time limits of their own, by the form, by CSV, and in a copy (requirements C41)", async () => {
    const id = await addChannel();
    const csv = [
      "\ufeffkey,idle_ms,name,total_ms",
      `${name(31)},2500,"one, quoted",`,
      `${name(32)},5s,,`,
      `${name(33)},50,,`,
      `${name(34)},-5,,`,
      `${name(35)},1.5,,`,
    ].join("\r\n");
    const malformed_lines = [
      { line: 3, reason: "时限须为整数毫秒" },
      { line: 4, reason: "时限至少 100 毫秒，0 表示默认值" },
      { line: 5, reason: "时限至少 100 毫秒，0 表示默认值" },
      { line: 6, reason: "时限须为整数毫秒" },
    ];
    expect(await paste(id, csv)).toMatchObject({ fresh: 1, malformed: 4, malformed_lines });
    const [own, pasted] = (await list(id)).rows;
    expect(own).toMatchObject({ connect_ms: 0, first_byte_ms: 0, idle_ms: 0, total_ms: 0 });
    expect(pasted).toMatchObject({ name: "one, quoted", idle_ms: 2_500, total_ms: 0 });
    const change = { ids: [own?.id], connect_ms: 300, first_byte_ms: 4_000 };
    expect((await call("PUT", `/api/channel/${id}/keys`, change)).data).toBe(1);
    expect((await call("PUT", `/api/channel/${id}/keys`, { ...change, connect_ms: 99 })).message).toContain(
      "时限至少 100 毫秒",
    );
    await call("PUT", `/api/channel/${id}/keys`, { ids: [own?.id], name: "slow" });
    const [kept] = (await list(id)).rows;
    expect(kept).toMatchObject({ name: "slow", connect_ms: 300, first_byte_ms: 4_000, idle_ms: 0 });
    const copied = (await call("POST", `/api/channel/copy/${id}`)).data as { id: number };
    expect((await list(copied.id)).rows[0]).toMatchObject({ connect_ms: 300, first_byte_ms: 4_000 });
  });

  test("are tested all at once: those that are finished go off, those that work come back", async () => {
    const id = await addChannel();
    await paste(id, `${name(41)}\n${name(42)}\n${name(43)}`);
    const { rows } = await list(id);
    const [, finished, back, byHand] = rows.map((row) => row.id);
    const { db, options } = world.app.ctx;
    await options.set("AutomaticDisableChannelEnabled", "true");
    const off = { status: 3, status_reason: "status 401", probe_time: 1 };
    await db
      .updateTable("channel_keys")
      .set(off)
      .where("id", "=", back ?? 0)
      .execute();
    await call("PUT", `/api/channel/${id}/keys`, { ids: [byHand], status: 2 });
    world.upstream.script((res, asked) => {
      const isFinished = asked.headers.authorization?.endsWith(name(41));
      const refused = {
        error: { message: "no such key", type: "invalid_request_error", code: "invalid_api_key" },
      };
      return isFinished ? json(refused, 401)(res, asked) : json(chatReply("hi"))(res, asked);
    });
    expect((await call("POST", `/api/channel/${id}/keys/test_all`, { scope: "all" })).success).toBe(true);
    await expect.poll(async () => (await list(id)).answer["testing"], { timeout: 20_000 }).toBe(false);
    const after = await list(id);
    expect(after.rows.map((row) => row.status)).toEqual([1, 3, 1, 2]);
    expect(after.rows.find((row) => row.id === finished)?.status_reason).toContain("no such key");
    expect(after.rows.every((row) => row.status === 3 || row.test_time > 0)).toBe(true);
    expect(after.answer["reasons"]).toEqual([
      { status: 3, reason: after.rows[1]?.status_reason, count: 1 },
      { status: 2, reason: "", count: 1 },
    ]);
    await options.set("AutomaticDisableChannelEnabled", "false");
  });

  test("leave in the open only for the super administrator, when an option says so, and the trail tells it", async () => {
    const id = await addChannel();
    await paste(id, `key,total_ms\n${name(51)},7000`);
    const root = await seedUser(world.app.ctx, `root${database.name}`, { role: 100 });
    const take = (who: SeededUser) => world.app.call(who.who, "POST", `/api/channel/${id}/keys/export`);
    expect((await take(root)).message).toContain("密钥导出已关闭");
    await world.app.ctx.options.set("ChannelKeyExportEnabled", "true");
    expect((await take(world.admin)).success).toBe(false);
    expect((await take(root)).data).toMatchObject([
      { key: FIRST, total_ms: 0 },
      { key: name(51), status: 1, total_ms: 7_000 },
    ]);
    const trail = await world.app.ctx.db
      .selectFrom("audit")
      .selectAll()
      .where("action", "=", "channel.keys_export")
      .execute();
    expect(trail).toHaveLength(1);
    expect(JSON.stringify(trail)).not.toContain("canary");
    await world.app.ctx.options.set("ChannelKeyExportEnabled", "false");
  });

  test("ten thousand of them come in pages", async () => {
    const id = await addChannel();
    const text = Array.from({ length: 9_999 }, (_, index) => name(100_000 + index)).join("\n");
    expect(await paste(id, text)).toMatchObject({ fresh: 9_999, malformed: 0 });
    const { answer } = await list(id, "&p=99");
    expect(answer).toMatchObject({ total: 10_000, enabled: 10_000 });
    expect((answer.data as ChannelKey[]).length).toBe(100);
    expect(world.app.ctx.candidates.byId(id)?.keys?.enabled).toBe(10_000);
    // One more is one too many, in the preview too; one it has already is not.
    const more = `${name(100_000)}\n${name(200_000)}`;
    for (const path of ["", "/preview"])
      expect((await call("POST", `/api/channel/${id}/keys${path}`, { text: more })).message).toBe(
        "一个渠道最多 10000 个密钥：已有 10000 个，本次新增 1 个",
      );
    expect(await paste(id, name(100_000), "/preview")).toMatchObject({ fresh: 0, known: 1 });
    // Where one place is left, of those who add at once one gets it.
    const [first] = (await list(id)).rows;
    await call("POST", `/api/channel/${id}/keys/delete`, { ids: [first?.id] });
    const answers = await Promise.all(
      [1, 2, 3].map((at) => call("POST", `/api/channel/${id}/keys`, { text: name(300_000 + at) })),
    );
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect((await list(id)).answer["total"]).toBe(10_000);
  });

  test("that are off are asked again in turn: none is asked twice before all were (requirements C27)", async () => {
    const id = await addChannel();
    await paste(id, `${name(61)}\n${name(62)}\n${name(63)}\n${name(64)}`);
    const ids = (await list(id)).rows.map((row) => row.id);
    const { db } = world.app.ctx;
    const off = { status: 3, status_reason: "status 401" };
    for (const [at, key] of ids.entries())
      await db
        .updateTable("channel_keys")
        .set({ ...off, probe_time: 100 - at })
        .where("id", "=", key)
        .execute();
    expect(await dueKeys(db, 95)).toEqual([]);
    const asked: number[] = [];
    for (let now = 100; now < 110; now += 1) {
      const due = await dueKeys(db, now);
      expect(due).toHaveLength(1);
      for (const row of due) {
        asked.push(row.id);
        // Due again by the time of the next look.
        await noteProbe(db, row.id, { probes: row.probes + 1, next: now + 1 });
      }
    }
    const turn = ids.toReversed();
    expect(asked).toEqual([...turn, ...turn]);
  });

  test("are for administrators alone, and belong to their channel", async () => {
    const id = await addChannel();
    const other = await addChannel(name(77));
    await paste(id, name(31));
    const [row] = (await list(id)).rows;
    expect((await call("PUT", `/api/channel/${other}/keys`, { ids: [row?.id], status: 2 })).success).toBe(
      false,
    );
    expect((await call("POST", `/api/channel/${other}/keys/test`, { key_id: row?.id })).success).toBe(false);
    const user = await seedUser(world.app.ctx, `u${database.name}`);
    expect((await world.app.call(user.who, "GET", `/api/channel/${id}/keys`)).success).toBe(false);
  });

  test("come back from an exported file as they were, whatever they begin with (requirements Y60)", async () => {
    const names = ["=SUM(A1)", "-1", "'quoted'", "'=1", "007", '备用,"甲"', ""];
    const keys = [
      ...["-canary-begins-as-a-formula", "=canary-begins-as-one-too", "'canary-quoted-0123456789"],
      ...["'=canary-both-0123456789", "012345678901234567890", "12345678901e12", "sk-canary-plain-01234567"],
    ];
    const columns = ["key", "name", "weight", "idle_ms"] as const;
    const fileOf = (rows: readonly Readonly<Record<string, string | number>>[]) =>
      csvText([columns, ...rows.map((row) => columns.map((column) => row[column] ?? ""))]);
    const asked = keys.map((key, at) => ({ key, name: names[at] ?? "", weight: at, idle_ms: 0 }));
    const { options } = world.app.ctx;
    await options.set("ChannelKeyExportEnabled", "true");
    const exported = async (id: number) =>
      (await world.app.call(asRoot, "POST", `/api/channel/${id}/keys/export`)).data.slice(1);
    const [one, other] = [await addChannel(), await addChannel()];
    expect(await paste(one, fileOf(asked))).toMatchObject({ fresh: keys.length, malformed: 0 });
    const rows = await exported(one);
    expect(rows).toMatchObject(asked);
    expect(await paste(other, fileOf(rows))).toMatchObject({ fresh: keys.length, elsewhere: keys.length });
    expect(await exported(other)).toMatchObject(asked);
    await options.set("ChannelKeyExportEnabled", "false");
  });
});

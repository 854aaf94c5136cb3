// What must be in the database before a byte moves: the reservation before the provider is connected, the booking before the client
// has the answer (requirements M03, M11).
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatReply, chunk, DONE, usageChunk } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { QUESTION } from "#test/worlds/relay-world.ts";

describe.each(databases)("on $name", (database) => {
  let app: TestApp;
  let url: string;
  let userId: number;
  let key: string;
  let provider: Server;
  /** Open reservations each time the provider was connected, and each time it was called. */
  const seen: { connected: Promise<number>[]; asked: number[] } = { connected: [], asked: [] };

  async function open(): Promise<number> {
    const rows = await app.ctx.db
      .selectFrom("reservations")
      .select("amount")
      .where("user_id", "=", userId)
      .execute();
    return rows.filter(({ amount }) => amount > 0).length;
  }

  async function booked(): Promise<number> {
    const entries = app.ctx.db.selectFrom("ledger").select("id").where("user_id", "=", userId);
    return (await entries.where("kind", "=", "consume").execute()).length;
  }

  beforeAll(async () => {
    app = await createAppOn(database);
    provider = createServer(async (req, res) => {
      let body = "";
      for await (const bytes of req) body += String(bytes);
      // The answer ends the reservation: it waits until both were counted.
      await Promise.all(seen.connected);
      seen.asked.push(await open());
      const isStream = JSON.parse(body).stream === true;
      res.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      const usage = { prompt_tokens: 10, completion_tokens: 5 };
      res.end(
        isStream
          ? chunk({ content: "hi" }) + chunk({}, "stop") + usageChunk(usage) + DONE
          : JSON.stringify(chatReply("hi")),
      );
    }).on("connection", () => seen.connected.push(open()));
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    // A server that listens on a port has such an address.
    const { port } = provider.address() as AddressInfo;
    const base_url = `http://127.0.0.1:${port}`;
    const draft = { type: 8, name: "c", key: "k", base_url, models: "gpt-4", group: "default" };
    await app.call(asRoot, "POST", "/api/channel/", draft);
    userId = (await seedUser(app.ctx, "caller")).id;
    const quota = { delta: 10n ** 9n };
    await app.ctx.ledger.adjust({ userId, kind: "grant", quota, actorId: 1, reason: "" });
    key = (await seedToken(app.ctx, userId)).key;
    url = await app.listen();
  });

  afterAll(async () => {
    provider.closeAllConnections();
    provider.close();
    await app.close();
  });

  function ask(stream: boolean): Promise<Response> {
    return fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({ ...QUESTION, stream }),
    });
  }

  it.each([false, true])(
    "the amount is reserved before the provider is connected (stream: %s)",
    async (stream) => {
      seen.connected.length = 0;
      seen.asked.length = 0;
      // A new connection, not one that was kept.
      provider.closeAllConnections();
      await (await ask(stream)).text();
      expect(await Promise.all(seen.connected)).toEqual([1]);
      expect(seen.asked).toEqual([1]);
      expect(await open()).toBe(0);
    },
  );

  it("a whole answer is booked before its first byte, a stream before its end", async () => {
    for (let round = 0; round < 10; round += 1) {
      const before = await booked();
      for await (const _ of (await ask(false)).body ?? expect.fail()) {
        expect(await booked()).toBe(before + 1);
        break;
      }
      let text = "";
      for await (const bytes of (await ask(true)).body ?? expect.fail()) {
        text += Buffer.from(bytes).toString();
        if (text.includes("[DONE]")) expect(await booked()).toBe(before + 2);
      }
      expect(text).toContain("[DONE]");
    }
  });
});

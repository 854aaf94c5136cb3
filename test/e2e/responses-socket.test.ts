// Responses by WebSocket on the built server (requirements C61, G01): a conversation of several calls; at SIGTERM sockets without a call close at
// once, and what runs too long gets a last event, is booked and closes.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import {
  chunk,
  createFakeUpstream,
  DONE,
  type Step,
  sse,
  usageChunk,
} from "#test/emulators/fake-upstream.ts";
import { openResponses, type ResponsesClient } from "#test/emulators/responses-client.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { manage, rootKey, startServer } from "#test/worlds/process.ts";

const model = "gpt-4o-mini";
const says = sse(
  ...[chunk({ content: "Done." }), chunk({}, "stop")],
  ...[usageChunk({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }), DONE],
);
const endless: Step = async (res, asked) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(chunk({ content: "word ".repeat(20) }));
  await asked.aborted;
};

function books(dataDir: string) {
  const db = new DatabaseSync(join(dataDir, "tollgate.db"), { readOnly: true });
  const count = (sql: string) => Number(db.prepare(sql).get()?.["n"]);
  const found = {
    open: count("SELECT count(*) AS n FROM reservations"),
    charges: count("SELECT count(*) AS n FROM ledger WHERE kind = 'consume'"),
  };
  db.close();
  return found;
}

test("calls on one socket are booked each; sockets close when the process ends", async () => {
  const upstream = await createFakeUpstream();
  onTestFinished(() => upstream.close());
  const server = await startServer(testDirectory(), { DRAIN_TIMEOUT: "1" });
  onTestFinished(() => server.kill("SIGKILL"));
  const channel = {
    type: 31,
    name: "chat",
    key: "k",
    base_url: upstream.url,
    models: model,
    group: "default",
  };
  await manage(server.url, "POST", "/api/channel/", channel);
  upstream.script(says);
  const clients: ResponsesClient[] = [];
  onTestFinished(() => {
    for (const { socket } of clients) socket.terminate();
  });
  const open = () => {
    const client = openResponses(server.url, rootKey);
    clients.push(client);
    return client;
  };
  const idle = open();
  let previous_response_id = (await idle.create({ model, generate: false, input: "begin" })).at(-1).response
    .id;
  for (const input of ["one", "two"]) {
    const last = (await idle.create({ model, previous_response_id, input })).at(-1);
    expect(last).toMatchObject({ type: "response.completed", response: { usage: { total_tokens: 15 } } });
    previous_response_id = last.response.id;
  }
  expect(upstream.journal.at(-1)?.json.messages.map(({ content }: { content: string }) => content)).toEqual([
    ...["begin", "one", "Done.", "two"],
  ]);
  upstream.script(endless);
  const running = open();
  running.say({ type: "response.create", model, input: "long" });
  while ((await running.next())[0].type !== "response.output_text.delta");
  void server.kill("SIGTERM");
  // The other call runs on for a second: which of the two closes first depends on no clock.
  const first = await Promise.race([idle.closed.then(() => "idle"), running.closed.then(() => "running")]);
  expect([first, await idle.closed]).toEqual(["idle", [1001, "server_stopping"]]);
  const events = [];
  while (events.at(-1)?.type !== "response.failed") events.push(...(await running.next()));
  expect(events.at(-1).response.error.code).toBe("server_stopping");
  expect((await running.closed)[0]).toBe(1001);
  expect(await server.exited).toBe(0);
  expect(books(server.dataDir)).toEqual({ open: 0, charges: 3 });
});

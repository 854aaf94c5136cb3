// A channel's table of statuses tells its clients, in calls of control too, and nothing else follows it (requirements C38).

import { beforeEach, describe, expect, it } from "vitest";
import { json, raw } from "#test/emulators/fake-upstream.ts";
import { batchOrder } from "#test/worlds/batch-world.ts";
import { addRuled } from "#test/worlds/channel-rules.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const OPENAI = 1;
const GATEWAY = 8;
const ANTHROPIC = 14;
const TEXT = "gpt-4o-mini";
const TABLE = { status_map: { "400": 418, "404": 410, "429": 503, "500": 504 } };
const failure = (status: number) => json({ error: { message: "no", type: "error", code: "x" } }, status);

beforeEach(async () => {
  await world.setOption("ModelRatio", JSON.stringify({ [TEXT]: 2, "claude-3": 2 }));
  await world.setOption("BatchesEnabled", "true");
  await world.setOption("ResponsesStateEnabled", "true");
});

function send(method: string, path: string, body?: FormData): Promise<Response> {
  const headers = { authorization: `Bearer sk-${world.token.key}` };
  return fetch(world.url + path, { method, headers, ...(body !== undefined && { body }) });
}

// Fields of any answer.
// biome-ignore lint/suspicious/noExplicitAny: the tests know what they asked for.
async function read(response: Response): Promise<any> {
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json();
}

describe("a kept response", () => {
  const asked = { model: TEXT, input: "hi", background: true, store: true };

  it("that cannot be looked at has the status of the table; one that is not there is not found", async () => {
    await addRuled(world, TABLE, { type: OPENAI, models: TEXT });
    world.upstream.script(json({ id: "resp_1", object: "response", status: "queued", output: [] }));
    const made = await read(await world.ask(asked, { path: "/v1/responses" }));
    world.upstream.script(failure(500));
    expect((await send("GET", `/v1/responses/${made.id}`)).status).toBe(504);
    expect((await send("GET", `/v1/responses/${made.id}?stream=true`)).status).toBe(504);
    // What 404 means to us follows the upstream's own.
    world.upstream.script(failure(404));
    expect(await errorOf(await send("GET", `/v1/responses/${made.id}`))).toMatchObject({ status: 404 });
  });

  it("that is refused when it is submitted has it, too, and the channel rests as after 429", async () => {
    const id = await addRuled(world, TABLE, { type: OPENAI, models: TEXT });
    const live = world.ctx.candidates.byId(id) ?? expect.fail("no channel");
    world.upstream.script(failure(503));
    expect((await world.ask(asked, { path: "/v1/responses" })).status).toBe(503);
    expect(world.ctx.health.restOf(live, TEXT)).toBeUndefined();
    world.upstream.script(failure(429));
    expect((await world.ask(asked, { path: "/v1/responses" })).status).toBe(503);
    expect(world.ctx.health.restOf(live, TEXT)).toMatchObject({ what: "circuit" });
  });
});

describe("files and batches", () => {
  it("have it when they are sent, fetched and deleted", async () => {
    await addRuled(world, TABLE, { type: GATEWAY, models: TEXT });
    const body = { model: TEXT, messages: [{ role: "user", content: "hi" }], max_tokens: 5 };
    const line = { custom_id: "l", method: "POST", url: "/v1/chat/completions", body };
    const upload = () => {
      const form = new FormData();
      form.append("purpose", "batch");
      form.append("file", new Blob([JSON.stringify(line)]), "lines.jsonl");
      return send("POST", "/v1/files", form);
    };
    world.upstream.script(failure(400));
    expect((await upload()).status).toBe(418);
    world.upstream.script(json({ id: "f-1", object: "file" }));
    const file = await read(await upload());
    world.upstream.script(failure(500));
    expect((await send("GET", `/v1/files/${file.id}/content`)).status).toBe(504);
    expect((await send("DELETE", `/v1/files/${file.id}`)).status).toBe(504);
    const { open } = await world.money();
    const order = batchOrder(file.id);
    world.upstream.script(failure(400));
    expect((await world.ask(order, { path: "/v1/batches" })).status).toBe(418);
    expect((await world.money()).open).toBe(open);
    // Of a file that is not there the table says nothing.
    world.upstream.script(raw("", {}, 404));
    expect((await send("DELETE", `/v1/files/${file.id}`)).status).toBe(200);
  });
});

describe("a count of tokens", () => {
  it("has it, and the rules on the client's headers", async () => {
    const rule = {
      id: "r",
      when: { header: { "x-team": "r*" } },
      do: [{ op: "passHeader", name: "x-team" }],
    };
    const config = { ...TABLE, rewrite: { v: 1, rules: [rule] } };
    await addRuled(world, config, { type: ANTHROPIC, models: "claude-3" });
    const asked = { model: "claude-3", messages: [{ role: "user", content: "hi" }] };
    const init = { path: "/v1/messages/count_tokens", headers: { "x-team": "red" } };
    world.upstream.script(json({ input_tokens: 3 }));
    expect(await read(await world.ask(asked, init))).toEqual({ input_tokens: 3 });
    expect(world.upstream.journal.at(-1)?.headers["x-team"]).toBe("red");
    world.upstream.script(failure(400));
    expect((await world.ask(asked, init)).status).toBe(418);
  });
});

// Traffic of Codex's shape through the relay: to OpenAI's wire, where bytes pass, and to others.
import { describe, expect, it } from "vitest";
import { chunk, DONE, json, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-4o";

/** As Codex sends it, in its own order of members. */
const CODEX = `{"model":"${model}","instructions":"You are Codex.","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Be safe."}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"List files"}]},
{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"gAAAAA=="},{"type":"custom_tool_call","status":"completed","call_id":"c1","name":"apply_patch","input":"*** Begin Patch\\n*** End Patch"},{"type":"custom_tool_call_output","call_id":"c1","output":"Done"}],
"tools":[{"type":"function","name":"exec_command","description":"Runs.","strict":false,"parameters":{"type":"object","properties":{"cmd":{"type":"string"}}}},{"type":"custom","name":"apply_patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}],
"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium","summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"0199-a","text":{"verbosity":"low"},"client_metadata":{"x":"y"}}`;

const HEADERS = {
  "user-agent": "codex_cli_rs/0.60.0",
  originator: "codex_cli_rs",
  session_id: "0199-a",
  conversation_id: "0199-a",
  "openai-beta": "responses=experimental",
  "x-codex-turn-metadata": "{}",
};

function askAsCodex(): Promise<Response> {
  return world.ask(CODEX, { path: "/v1/responses", headers: HEADERS });
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

describe("Codex", () => {
  it("to OpenAI's wire: every byte passes, there and back", async () => {
    const response = { id: "resp_1", object: "response", status: "in_progress", output: [] };
    const usage = {
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 40 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 55,
    };
    const events = [
      event("response.created", { sequence_number: 0, response }),
      event("response.brand_new", { sequence_number: 1, secret: "é" }),
      event("response.custom_tool_call_input.delta", { sequence_number: 2, delta: "*** Begin" }),
      event("response.completed", {
        sequence_number: 3,
        response: { ...response, status: "completed", usage },
      }),
    ];
    await world.addChannel({ type: 1, models: model });
    world.upstream.script(sse(...events));
    const { log, open } = await world.costOf(async () => {
      const answer = await askAsCodex();
      expect(answer.status).toBe(200);
      expect(await answer.text()).toBe(events.join(""));
    });
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/responses");
    expect(asked?.text).toBe(CODEX);
    expect(asked?.headers["openai-beta"]).toBe(HEADERS["openai-beta"]);
    expect(asked?.headers["session_id"]).toBeUndefined();
    expect({ log, open }).toMatchObject({
      log: { prompt_tokens: 50, completion_tokens: 5, estimated: 0 },
      open: 0,
    });
  });

  it("to OpenAI's wire after another one: reasoning that only we could read is dropped", async () => {
    await world.addChannel({ type: 1, models: model });
    const summary = [{ type: "summary_text", text: "Hm" }];
    const said = { id: "msg_1", type: "message", role: "assistant", content: [] };
    const sealed = { type: "reasoning", id: "rs_1", summary, encrypted_content: "gAAAAABpX2Zl" };
    const clear = {
      type: "reasoning",
      id: "rs_2",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm" }],
    };
    const ours = { type: "reasoning", id: "rs_3", summary, encrypted_content: "tollgate:S" };
    const unproven = { type: "reasoning", summary, encrypted_content: null };
    const user = { role: "user", content: "Hi" };
    const ask = (input: readonly object[]) => world.ask({ model, input }, { path: "/v1/responses" });
    world.upstream.script(json({ object: "response", output: [] }));
    await ask([user, sealed, clear, ours, said, unproven, user]);
    expect(world.upstream.journal[0]?.json.input).toEqual([user, sealed, clear, said, user]);
    await ask([user, sealed, said, user]);
    const passed = { model, input: [user, sealed, said, user], store: false };
    expect(world.upstream.journal[1]?.text).toBe(JSON.stringify(passed));
  });

  it("to a wire of chat alone: its patches come back as it knows them", async () => {
    await world.addChannel({ type: 31, models: model });
    const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] });
    world.upstream.script(
      sse(
        call({
          id: "t1",
          type: "function",
          function: { name: "apply_patch", arguments: '{"input":"*** Be' },
        }),
        call({ function: { arguments: 'gin Patch"}' } }),
        chunk({}, "tool_calls"),
        usageChunk({ prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }),
        DONE,
      ),
    );
    const answer = await askAsCodex();
    const text = await answer.text();
    const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
    expect(types[0]).toBe("response.created");
    expect(types.at(-1)).toBe("response.completed");
    expect(types).toContain("response.custom_tool_call_input.done");
    const last = JSON.parse(text.trimEnd().split("\n\n").at(-1)?.split("data: ")[1] ?? "");
    expect(last.response).toMatchObject({
      output: [{ type: "custom_tool_call", call_id: "t1", name: "apply_patch", input: "*** Begin Patch" }],
      usage: { input_tokens: 9, output_tokens: 3 },
    });
    const [asked] = world.upstream.journal;
    expect(asked?.path).toBe("/v1/chat/completions");
    expect(asked?.text).not.toContain("gAAAAA");
    expect(asked?.json.messages).toMatchObject([
      { role: "system", content: "You are Codex." },
      { role: "system", content: "Be safe." },
      { role: "user", content: "List files" },
      {
        role: "assistant",
        tool_calls: [{ id: "c1", function: { name: "apply_patch" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "Done" },
    ]);
  });

  it.each([
    ["OpenRouter", 20, "moonshotai/kimi-k3", "/v1/chat/completions"],
    ["OpenRouter", 20, "openai/gpt-5.5", "/v1/responses"],
    ["Groq", 29, "openai/gpt-oss-120b", "/v1/chat/completions"],
    ["xAI", 45, "grok-4.7", "/v1/chat/completions"],
    ["Ark", 40, "doubao-seed-2-1-pro-260915", "/api/v3/responses"],
  ])("to %s's own Responses (type %i), with %s: its tools go where they are known, %s", async (...row) => {
    const [, type, name, path] = row;
    await world.addChannel({ type, models: name });
    const response = { id: "resp_1", object: "response", status: "completed", output: [] };
    const told = path.endsWith("responses")
      ? event("response.completed", { sequence_number: 0, response })
      : chunk({ content: "Done." });
    world.upstream.script(sse(told, chunk({}, "stop"), DONE));
    const answer = await world.ask(CODEX.replace(model, name), { path: "/v1/responses", headers: HEADERS });
    expect(answer.status).toBe(200);
    await answer.text();
    expect(world.upstream.journal.map((asked) => asked.path)).toEqual([path]);
  });

  it("to a vendor's own Responses: a body with functions alone passes as it is", async () => {
    await world.addChannel({ type: 45, models: "grok-4.7" });
    const tools = [{ type: "function", name: "f", parameters: { type: "object" } }, { type: "web_search" }];
    const body = { model: "grok-4.7", input: "Hi", tools, store: false };
    world.upstream.script(json({ id: "resp_1", object: "response", status: "completed", output: [] }));
    const answer = await world.ask(body, { path: "/v1/responses" });
    expect(answer.status).toBe(200);
    const [asked] = world.upstream.journal;
    expect([asked?.path, asked?.json]).toEqual(["/v1/responses", body]);
  });

  it("sends its tools in the input, as since 0.150, and gets the names it knows", async () => {
    await world.addChannel({ type: 31, models: model });
    const args = JSON.stringify({ input: "text(1)" });
    const tool = { id: "t1", type: "function", function: { name: "functions__exec", arguments: args } };
    world.upstream.script(sse(chunk({ tool_calls: [{ index: 0, ...tool }] }), chunk({}, "tool_calls"), DONE));
    const exec = { type: "custom", name: "exec", description: "Runs JavaScript." };
    const sleeper = { type: "function", name: "sleep", strict: false, parameters: { type: "object" } };
    const body = {
      model,
      input: [
        {
          type: "additional_tools",
          id: "at_1",
          role: "developer",
          tools: [
            { type: "namespace", name: "functions", description: "", tools: [exec] },
            { type: "namespace", name: "clock", description: "Time.", tools: [sleeper] },
          ],
        },
        { type: "message", role: "user", content: [{ type: "input_text", text: "List files" }] },
        { type: "custom_tool_call", call_id: "c1", name: "exec", namespace: "functions", input: "text(0)" },
        { type: "custom_tool_call_output", call_id: "c1", output: "0" },
      ],
      tool_choice: "auto",
      parallel_tool_calls: false,
      reasoning: { effort: "medium", context: "all_turns" },
      store: false,
      stream: true,
    };
    const answer = await world.ask(body, { path: "/v1/responses", headers: HEADERS });
    const text = await answer.text();
    const last = JSON.parse(text.trimEnd().split("\n\n").at(-1)?.split("data: ")[1] ?? "");
    expect(last.response.output).toMatchObject([
      {
        type: "custom_tool_call",
        // OpenAI, which may serve the next turn, takes back no id that begins otherwise.
        id: expect.stringMatching(/^ctc_/),
        call_id: "t1",
        name: "exec",
        namespace: "functions",
        input: "text(1)",
      },
    ]);
    const [asked] = world.upstream.journal;
    expect(asked?.json).toMatchObject({
      parallel_tool_calls: false,
      tools: [{ function: { name: "functions__exec" } }, { function: { name: "clock__sleep" } }],
      messages: [
        { role: "user", content: "List files" },
        { role: "assistant", tool_calls: [{ id: "c1", function: { name: "functions__exec" } }] },
        { role: "tool", tool_call_id: "c1", content: "0" },
      ],
    });
  });

  it("searches for its tools with other wires too, and calls what it found", async () => {
    await world.addChannel({ type: 31, models: model });
    const call = (id: string, name: string, args: object) => ({
      tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
    });
    const search = { type: "tool_search", execution: "client", description: "Finds tools.", parameters: {} };
    const create = { type: "function", name: "create", parameters: { type: "object" }, defer_loading: true };
    const found = [{ type: "namespace", name: "calendar", description: "", tools: [create] }];
    const history = [
      { role: "user", content: "Plan it" },
      { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
      { type: "tool_search_output", call_id: null, execution: "server", tools: [] },
      { type: "tool_search_call", call_id: "s0", execution: "client", arguments: { query: "calendar" } },
      { type: "tool_search_output", call_id: "s0", execution: "client", tools: found },
      { type: "tool_search_call", call_id: "s1", execution: "client", arguments: { query: "more" } },
      { type: "tool_search_output", call_id: "s1", execution: "client", tools: found },
    ];
    const ask = async (reply: object) => {
      world.upstream.script(sse(chunk(reply), chunk({}, "tool_calls"), DONE));
      const body = { model, input: history, tools: [search], stream: true };
      const answer = await world.ask(body, { path: "/v1/responses", headers: HEADERS });
      const text = await answer.text();
      return JSON.parse(text.trimEnd().split("\n\n").at(-1)?.split("data: ")[1] ?? "").response.output;
    };
    expect(await ask(call("t1", "tool_search", { query: "mail" }))).toMatchObject([
      { type: "tool_search_call", call_id: "t1", execution: "client", arguments: { query: "mail" } },
    ]);
    expect(await ask(call("t2", "calendar__create", {}))).toMatchObject([
      { type: "function_call", call_id: "t2", name: "create", namespace: "calendar", arguments: "{}" },
    ]);
    const told = { role: "tool", content: "These tools can be called now: calendar__create" };
    expect(world.upstream.journal[0]?.json).toMatchObject({
      tools: [
        { function: { name: "tool_search", description: "Finds tools." } },
        { function: { name: "calendar__create" } },
      ],
      messages: [
        { role: "user", content: "Plan it" },
        { tool_calls: [{ id: "s0", function: { name: "tool_search", arguments: '{"query":"calendar"}' } }] },
        { ...told, tool_call_id: "s0" },
        { tool_calls: [{ id: "s1", function: { name: "tool_search" } }] },
        { ...told, tool_call_id: "s1" },
      ],
    });
  });

  it("has its agents talk to each other, unless OpenAI has encrypted their messages", async () => {
    await world.addChannel({ type: 31, models: model });
    const told = (words: string) => ({
      type: "agent_message",
      id: "amsg_1",
      author: "/root",
      recipient: "/root/helper",
      content: [
        { type: "input_text", text: "Payload:" },
        { type: "encrypted_content", encrypted_content: words },
      ],
    });
    const ask = (words: string) =>
      world.ask(
        { model, input: [{ role: "user", content: "Help" }, told(words)] },
        { path: "/v1/responses", headers: HEADERS },
      );
    expect((await ask("be nice")).status).toBe(200);
    expect(world.upstream.journal[0]?.json.messages).toEqual([
      { role: "user", content: "Help" },
      {
        role: "user",
        content: [
          { type: "text", text: "Payload:" },
          { type: "text", text: "be nice" },
        ],
      },
    ]);
    const sealed = await ask("gAAAAABpX2Zl");
    expect(sealed.status).toBe(400);
    expect(await sealed.json()).toMatchObject({ error: { code: "unsupported_parameter" } });
  });

  it("gets a refusal as a message, and a broken stream as an event", async () => {
    await world.addChannel({ type: 31, models: model });
    world.upstream.script(sse(chunk({ content: "Hel" }), "cut"));
    const { open } = await world.costOf(async () => {
      const text = await (await askAsCodex()).text();
      expect(text).toContain('"delta":"Hel"');
      const [error, failed] = text.trimEnd().split("\n\n").slice(-2);
      expect(error).toMatch(/^event: error\ndata: {"type":"error","sequence_number":\d+,"code":"/);
      // By this field alone OpenAI's SDK for Python knows an error: what is built on it (Agno) took the broken answer for a whole one.
      expect(error).toMatch(
        /"error":{"type":"upstream_error","code":"do_request_failed","message":"上游连接中断[^{}]*","param":null}}$/,
      );
      // Without this Codex takes a broken stream for a lost connection, and does not show the message.
      expect(failed).toMatch(
        /^event: response.failed\ndata: {"type":"response.failed","sequence_number":\d+/,
      );
      expect(JSON.parse(failed?.split("data: ")[1] ?? "").response).toMatchObject({
        status: "failed",
        error: { code: "do_request_failed", message: expect.stringMatching(/^上游连接中断/) },
      });
    });
    expect(open).toBe(0);
    world.upstream.script(json({ error: { message: "Invalid value", type: "invalid_request_error" } }, 400));
    const refused = await askAsCodex();
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });

  it("falls back to HTTP when a proxy took its upgrade to a WebSocket out: 404 would cost it many retries", async () => {
    const { status } = await fetch(`${world.url}/v1/responses`, {
      headers: { authorization: `Bearer sk-${world.token.key}` },
    });
    expect(status).toBe(426);
  });
});

// Prompts and replies are stored nowhere, and internal details of failures reach no client: neither the log at its finest level, nor
// any file of the database holds them, in whatever way a call fails (requirements P01, P02, R18).
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const PROMPT = "canary-prompt-5d1f0a7e";
const REPLY = "canary-reply-93b2c4d8";
const KEY = "sk-canary-upstream-71ce05aa99";

type Fault = (res: ServerResponse, body: string) => void;

const json =
  (value: unknown, status = 200) =>
  (res: ServerResponse) =>
    void res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
const reply = (content: string) => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
});
const chunk = (content: string) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "gpt-4o-mini", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

/** Each answers with as much of the prompt, the reply and the key as it can. */
const faults: Readonly<Record<string, Fault>> = {
  "an answer": json(reply(REPLY)),
  "a stream": (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`${chunk(REPLY)}data: [DONE]\n\n`);
  },
  "a stream that breaks": (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(chunk(REPLY));
    setTimeout(() => res.destroy(), 50);
  },
  "a stream of garbage": (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`data: {"${REPLY}${KEY}\n\ndata: ${PROMPT}\n\n`);
  },
  "an error that repeats everything": (res, body) =>
    json({ error: { message: `${body} ${REPLY} ${KEY}`, type: "server_error", code: PROMPT } }, 500)(res),
  "a refusal of the key": (res) => json({ error: { message: `Incorrect API key ${KEY}` } }, 401)(res),
  "a bad request": (res, body) =>
    json({ error: { message: `cannot read ${body}`, param: PROMPT } }, 400)(res),
  "an error with 200": (res, body) => json({ error: { message: `${body}${REPLY}${KEY}` } })(res),
  "a page": (res, body) =>
    void res.writeHead(200, { "content-type": "text/html" }).end(`<p>${body}${REPLY}</p>`),
  "half a body": (res) => {
    res.writeHead(200, { "content-type": "application/json", "content-length": "9999" });
    res.write(`{"choices":[{"message":{"content":"${REPLY}`);
    setTimeout(() => res.destroy(), 50);
  },
  "a redirect": (res) =>
    void res.writeHead(302, { location: `http://127.0.0.1:1/?k=${KEY}&p=${PROMPT}` }).end(),
  "a cut line": (res) => res.destroy(),
};

const dir = temporaryDir();
let server: ServerProcess;
let fault: Fault = json(reply(REPLY));
const upstream = createServer((req, res) => {
  let body = "";
  req.on("data", (data) => {
    body += String(data);
  });
  req.on("end", () => fault(res, body));
});

beforeAll(async () => {
  server = await startServer(dir.path, { LOG_LEVEL: "trace" });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const address = upstream.address();
  const port = typeof address === "object" ? address?.port : 0;
  await manage(server.url, "POST", "/api/channel/", {
    type: 1,
    name: "canary",
    key: KEY,
    base_url: `http://127.0.0.1:${port}`,
    models: "gpt-4o-mini",
    group: "default",
  });
}, 30_000);
afterAll(async () => {
  await server.kill("SIGKILL");
  upstream.closeAllConnections();
  upstream.close();
  dir.remove();
});

async function ask(body: unknown): Promise<string> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  // A stream may break off.
  return response.text().catch(() => "");
}

const INSIDES = /\n\s+at |node:internal|\/src\/server|node_modules|SQLITE_|ECONNRESET|127\.0\.0\.1/;

test("neither prompts nor replies nor keys are kept, and errors tell no internal details", async () => {
  const question = (stream: boolean) => ({
    model: "gpt-4o-mini",
    stream,
    user: PROMPT,
    messages: [
      { role: "system", content: PROMPT },
      { role: "user", content: `${PROMPT} ${"long ".repeat(200)}` },
    ],
  });
  for (const [name, step] of Object.entries(faults)) {
    fault = step;
    for (const stream of [false, true]) {
      const text = await ask(question(stream));
      expect(text, name).not.toContain(KEY);
      expect(text.replaceAll(REPLY, ""), name).not.toMatch(INSIDES);
    }
  }
  // What is refused before it goes anywhere.
  for (const body of [
    `{"model":"${PROMPT}`,
    `{"messages":"${PROMPT}"}`,
    `${PROMPT}`,
    { model: "nobody-has-it", messages: [PROMPT] },
  ])
    await ask(body);
  const leaving = new AbortController();
  fault = () => undefined;
  const left = fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    signal: leaving.signal,
    headers: { authorization: `Bearer sk-${rootKey}` },
    body: JSON.stringify(question(true)),
  }).catch(() => undefined);
  setTimeout(() => leaving.abort(), 200);
  await left;
  await server.kill("SIGTERM");

  const log = server.output();
  expect(log.split("\n").filter((line) => line.includes('"relay"')).length).toBeGreaterThan(20);
  for (const text of [PROMPT, REPLY, KEY]) {
    expect(
      log.split("\n").filter((line) => line.includes(text)),
      `${text} in the log`,
    ).toEqual([]);
    for (const file of readdirSync(dir.path))
      expect(readFileSync(join(dir.path, file)).includes(text), `${text} in ${file}`).toBe(false);
  }
}, 120_000);

// `npm run demo`: a complete Tollgate with upstreams that answer without a key, channels, users, tokens and a month of usage.
// The data is made by the real store and ledger in ./data/demo (made anew each time); then the real server runs on it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import { fillDemo, users } from "./demo-data.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DATA_DIR = "./data/demo";
const PORT = process.env["PORT"] || "3000";
const READY_TRIES = 100;

/** The last thing the user said, as plain text. */
function questionOf(request: { messages: readonly { role: string; content: unknown }[] }): string {
  const asked = request.messages.findLast(({ role }) => role === "user")?.content;
  return typeof asked === "string" ? asked.slice(0, 200) : "（多段内容）";
}

/** Starts the upstreams: one loopback port that speaks the wires of all providers, at the pace of a real model. */
async function startUpstream(): Promise<LLMock> {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 8 });
  mock.onEmbedding(/.*/, { embedding: Array.from({ length: 64 }, (_, index) => Math.sin(index + 1) / 8) });
  mock.onMessage(
    /[\s\S]*/,
    (request) => ({
      content: `这里是演示上游（${request.model}）。你说的是：“${questionOf(request)}”。这条回答经由 Tollgate 转发，令牌用量和额度都已入账，可以在“使用日志”里看到。`,
    }),
    { streamingProfile: { ttft: 250, tps: 60, jitter: 0.2 } },
  );
  await mock.start();
  return mock;
}

/** The real server, as `npm start` runs it, with the upstreams' port allowed. */
function startServer(upstreamPort: string): ChildProcess {
  return spawn(process.execPath, ["dist/server/main.js"], {
    cwd: ROOT,
    stdio: "inherit",
    env: {
      ...process.env,
      PORT,
      DATA_DIR,
      DATABASE_URL: "",
      SQL_DSN: "",
      EGRESS_ALLOW: `127.0.0.0/8:${upstreamPort}`,
      LOG_LEVEL: process.env["LOG_LEVEL"] ?? "warn",
    },
  });
}

async function waitReady(url: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < READY_TRIES && server.exitCode === null; attempt += 1) {
    const isReady = await fetch(`${url}/readyz`).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the server did not become ready");
}

function instructions(url: string, key: string): string {
  const logins = users.map(({ username, password, title }) => `  ${username} / ${password}  (${title})`);
  return `
Console:  ${url}
Logins:
${logins.join("\n")}

Ask through the gateway:
  curl ${url}/v1/chat/completions \\
    -H "Authorization: Bearer sk-${key}" -H "Content-Type: application/json" \\
    -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"你好"}]}'

Ctrl-C ends the demo.
`;
}

/** The program that listens there may be another demo on the same folder, and would be asked whether this one is ready. */
async function isPortFree(): Promise<boolean> {
  const probe = createServer().listen(Number(PORT), "127.0.0.1");
  const isFree = await once(probe, "listening").then(
    () => true,
    () => false,
  );
  probe.close();
  return isFree;
}

async function main(): Promise<void> {
  if (!(await isPortFree())) {
    console.error(`tollgate: port ${PORT} is in use: stop the other program, or choose another with PORT`);
    process.exit(1);
  }
  rmSync(new URL(`../${DATA_DIR}`, import.meta.url), { recursive: true, force: true });
  const upstream = await startUpstream();
  process.chdir(ROOT);
  const upstreamPort = new URL(upstream.url).port;
  const { key } = await fillDemo({ dataDir: DATA_DIR, upstreamUrl: upstream.url, upstreamPort });
  const server = startServer(upstreamPort);
  server.on("exit", (code) => {
    void upstream.stop().finally(() => process.exit(code ?? 0));
  });
  // A terminal sends Ctrl-C to the server by itself; other signals are passed on.
  process.on("SIGINT", () => process.stdin.isTTY || server.kill("SIGINT"));
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  const url = `http://127.0.0.1:${PORT}`;
  await waitReady(url, server);
  console.log(instructions(url, key));
}

await main();

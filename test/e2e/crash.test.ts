// kill -9 in the middle of streams: afterwards no reservation is open, balances equal the ledger, no payer paid for more
// than the upstream sent, and a client that saw the end of an answer finds it in the ledger (requirements M12).
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { manage, rootKey, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";
import { rounds } from "#test/worlds/soak.ts";

const KILLS = rounds(6, 100);
const dir = temporaryDir();
let server: ServerProcess;
let upstream: Server;
let upstreamUrl = "";
let framesSent = 0;

/** Streams up to 60 one-token events with small random gaps; counts every event it wrote. */
function slowUpstream(): Server {
  return createServer((req, res) => {
    req.resume();
    req.on("end", () => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      let frame = 0;
      const total = 5 + Math.floor(Math.random() * 55);
      const timer = setInterval(() => {
        if (frame < total) {
          frame += 1;
          framesSent += 1;
          const delta = { choices: [{ index: 0, delta: { content: " word" }, finish_reason: null }] };
          res.write(
            `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "gpt-4o-mini", ...delta })}\n\n`,
          );
          return;
        }
        clearInterval(timer);
        const usage = { prompt_tokens: 8, completion_tokens: total, total_tokens: 8 + total };
        res.end(
          `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "gpt-4o-mini", choices: [], usage })}\n\ndata: [DONE]\n\n`,
        );
      }, 8);
      res.on("close", () => clearInterval(timer));
    });
  });
}

/** One streaming call; true when the client saw `[DONE]`. Connection errors are expected: the server dies. */
async function stream(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-4o-mini",
        stream: true,
        max_tokens: 100,
        messages: [{ role: "user", content: "hi" }],
      }),
    });
    return (await response.text()).includes("data: [DONE]");
  } catch {
    return false;
  }
}

interface Sums {
  open: number;
  balance: number;
  used: number;
  ledger: number;
  consumed: number;
  entries: number;
}

/** Reads the sums from the database file as an outsider would. */
function readSums(): Sums {
  const db = new DatabaseSync(join(dir.path, "tollgate.db"), { readOnly: true });
  const row = db
    .prepare(
      `SELECT (SELECT count(*) FROM reservations) AS open,
        (SELECT sum(quota) FROM users) AS balance,
        (SELECT sum(used_quota) FROM users) AS used,
        (SELECT sum(amount) FROM ledger) AS ledger,
        (SELECT coalesce(-sum(amount), 0) FROM ledger WHERE kind = 'consume') AS consumed,
        (SELECT count(*) FROM ledger WHERE kind = 'consume') AS entries`,
    )
    .get();
  db.close();
  // The statement names exactly these columns, all of them integers.
  return row as unknown as Sums;
}

beforeAll(async () => {
  upstream = slowUpstream();
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const address = upstream.address();
  if (address && typeof address === "object") upstreamUrl = `http://127.0.0.1:${address.port}`;
  server = await startServer(dir.path);
  await manage(server.url, "POST", "/api/channel/", {
    type: 1,
    name: "emulator",
    key: "sk-upstream",
    base_url: upstreamUrl,
    models: "gpt-4o-mini",
    group: "default",
  });
});

afterAll(async () => {
  await server?.kill("SIGTERM");
  upstream.close();
  upstream.closeAllConnections();
  dir.remove();
});

it(`keeps the ledger exact through ${KILLS} kills in the middle of streams`, {
  timeout: 60_000 + KILLS * 10_000,
}, async () => {
  let completed = 0;
  for (let round = 0; round < KILLS; round += 1) {
    const { url } = server;
    const calls = Array.from({ length: 12 }, () => stream(url));
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 800));
    // On a machine so slow that none has ended yet, one does.
    if (round === KILLS - 1 && completed === 0) await Promise.any(calls);
    await server.kill("SIGKILL");
    completed += (await Promise.all(calls)).filter(Boolean).length;

    // It closes what the other left open, and is the next to be killed.
    server = await startServer(dir.path);
    const sums = readSums();
    expect(sums.open).toBe(0);
    expect(sums.balance).toBe(sums.ledger);
    expect(sums.used).toBe(sums.consumed);
    expect(sums.entries).toBeGreaterThanOrEqual(completed);
    // gpt-4o-mini: 0.075 quota per prompt token, 0.3 per output token; every call rounds up by less than one.
    const most = framesSent * 0.3 + sums.entries * (8 * 0.075 + 1);
    expect(sums.consumed).toBeLessThanOrEqual(most);
  }
  expect(completed).toBeGreaterThan(0);
});

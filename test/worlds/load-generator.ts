// Calls from many clients at once against a server in trouble, and what must have become of them: what a client saw complete is in
// the ledger once with its exact price, what was refused costs nothing, of what broke off no more than was sent (requirements F05, E13).
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

/** Prompt tokens of every answer; each token costs one unit of quota, in and out. */
const PROMPT = 10;
const WORD_MS = 10;

/** What an upstream did for a call, by the number in its prompt. */
interface Sent {
  words: number;
  isWhole: boolean;
}

export interface LoadUpstream {
  readonly url: string;
  readonly sent: ReadonlyMap<number, Sent>;
  close(): void;
}

/** Answers each call with 1 to 40 words, whole or as a stream, and keeps a record of what it sent. */
export async function createLoadUpstream(): Promise<LoadUpstream> {
  const sent = new Map<number, Sent>();
  const server = createServer(async (req, res) => {
    const parts: string[] = [];
    for await (const part of req.setEncoding("utf8")) parts.push(part);
    const body = JSON.parse(parts.join(""));
    const call = Number(body.messages[0].content);
    const entry = { words: 0, isWhole: false };
    sent.set(call, entry);
    const total = wordsOf(call);
    const base = { id: "c", created: 1, model: "gpt-4o-mini" };
    const usage = { prompt_tokens: PROMPT, completion_tokens: total, total_tokens: PROMPT + total };
    if (body.stream !== true) {
      const message = { role: "assistant", content: " word".repeat(total) };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      Object.assign(entry, { words: total, isWhole: true });
      res.setHeader("content-type", "application/json");
      res.end(JSON.stringify({ ...base, object: "chat.completion", choices, usage }));
      return;
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    const event = (more: unknown) =>
      res.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", ...Object(more) })}\n\n`);
    for (; entry.words < total && !res.destroyed; entry.words += 1) {
      event({ choices: [{ index: 0, delta: { content: " word" }, finish_reason: null }] });
      await sleep(WORD_MS);
    }
    if (res.destroyed) return;
    entry.isWhole = true;
    event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    event({ choices: [], usage });
    res.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    sent,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function wordsOf(call: number): number {
  return 1 + ((call * 7) % 40);
}

/** What one client saw. */
interface Seen {
  readonly call: number;
  readonly isStream: boolean;
  /** Of the server; undefined = it never answered. */
  requestId: string | undefined;
  status: number;
  end: "whole" | "refused" | "broken";
  /** Words that arrived. */
  words: number;
  tookMs: number;
}

export interface Load {
  /** Calls seen to their end so far. */
  readonly seen: readonly Seen[];
  /** One call more, not as a stream. */
  call(): Promise<Seen>;
  /** Lets every client end its call. */
  stop(): Promise<void>;
}

/** Numbers of calls; no two loads of a file share one. */
let calls = 0;

/** Lets `clients` call without a pause, by the keys in turn, every third one as a stream. */
export function startLoad(url: string, keys: readonly string[], clients: number): Load {
  const seen: Seen[] = [];
  let isOver = false;
  const callNext = async (isStream: boolean) => {
    const call = ++calls;
    const result = await callOnce(url, { key: keys[call % keys.length] ?? "", call, isStream });
    seen.push(result);
    return result;
  };
  const client = async () => {
    while (!isOver) {
      const { end } = await callNext(calls % 3 === 0);
      // No client calls again at once after an error.
      if (end !== "whole") await sleep(50);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, client));
  return {
    seen,
    call: () => callNext(false),
    async stop() {
      isOver = true;
      await running;
    },
  };
}

async function callOnce(
  url: string,
  { key, call, isStream }: { key: string; call: number; isStream: boolean },
): Promise<Seen> {
  const startMs = performance.now();
  const seen: Seen = { call, isStream, requestId: undefined, status: 0, end: "broken", words: 0, tookMs: 0 };
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "gpt-4o-mini",
        stream: isStream,
        messages: [{ role: "user", content: String(call) }],
      }),
      signal: AbortSignal.timeout(60_000),
    });
    seen.requestId = response.headers.get("x-oneapi-request-id") ?? undefined;
    seen.status = response.status;
    let text = "";
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      seen.words = text.split(" word").length - 1;
    }
    if (!response.ok) seen.end = "refused";
    else if (isStream ? text.includes("data: [DONE]") && !text.includes('"error"') : true) seen.end = "whole";
  } catch {
    // The connection broke: what came before it counts.
  }
  seen.tookMs = performance.now() - startMs;
  return seen;
}

/** A row of the ledger about a call. */
export interface Charged {
  readonly request_id: string;
  readonly amount: string;
}

/** Holds what clients saw against the upstream's record and the ledger's entries about calls. */
export function expectHonest(
  seen: readonly Seen[],
  sent: LoadUpstream["sent"],
  entries: readonly Charged[],
): void {
  const charges = new Map<string, number[]>();
  for (const { request_id, amount } of entries)
    charges.set(request_id, [...(charges.get(request_id) ?? []), -Number(amount)]);
  const wrong: unknown[] = [];
  for (const one of seen) {
    const booked = one.requestId === undefined ? [] : (charges.get(one.requestId) ?? []);
    if (!isHonest(one, sent.get(one.call), booked)) wrong.push({ ...one, booked, sent: sent.get(one.call) });
  }
  expect(wrong).toEqual([]);
  // There were no other calls: what is in the ledger beyond what was seen belongs to calls that never got an answer.
  const known = new Set(seen.map((one) => one.requestId));
  const unseen = [...charges.keys()].filter((id) => !known.has(id));
  expect(unseen.length).toBeLessThanOrEqual(seen.filter((one) => one.requestId === undefined).length);
}

function isHonest({ call, end, words }: Seen, sent: Sent | undefined, booked: readonly number[]): boolean {
  const [charge = 0, ...more] = booked;
  if (more.length > 0) return false;
  const price = PROMPT + wordsOf(call);
  if (end === "whole") return booked.length === 1 && charge === price && sent?.isWhole === true;
  if (end === "refused") return charge === 0;
  // Prompts are counted here when the upstream did not tell; a number takes some tokens.
  return charge >= words && charge <= PROMPT + (sent?.words ?? 0);
}

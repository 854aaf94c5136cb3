// One relayed call made twice, without node:http's parser and by it: what the tests share that compare the two.
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { expect, vi } from "vitest";
import type { Relay } from "#server/relay/relay.ts";
import { until } from "./raw-http.ts";
import { type createRelayWorld, QUESTION } from "./relay-world.ts";

export type Way = "ours" | "node's";
export const WAYS = ["ours", "node's"] as const;
/** What differs from call to call by itself. */
const OWN = /^(id|created_at|request_id|requestId|elapsed_time|first_byte_time|elapsedMs|firstByteMs|date)$/;

export interface Ask {
  readonly path?: string;
  readonly body?: unknown;
  readonly key?: string;
}

/** What a client saw. */
export interface Seen {
  readonly status: number;
  readonly words: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly isWhole: boolean;
}

/** Without what differs from call to call, wherever it stands. */
export function masked(value: unknown, requestId: string): unknown {
  const text = JSON.stringify(value, (name, field: unknown) => (OWN.test(name) ? undefined : field));
  return JSON.parse(text.replaceAll(requestId, "<id>").replaceAll(/(created_at[\\"]*:)\d+/g, "$1<time>"));
}

/** The head of a call and its body, for a connection of one's own. */
export function wordsOf(way: Way, { path = "/v1/chat/completions", body = QUESTION, key = "" }: Ask): string {
  const text = JSON.stringify(body);
  const more = way === "ours" ? "" : "TE: trailers\r\n";
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** The two ways into the relays of a world. */
export class BothWays {
  readonly #world: ReturnType<typeof createRelayWorld>;
  /** Node's parser keeps the connections that it has got. */
  readonly #agents = { ours: new Agent({ keepAlive: true }), "node's": new Agent({ keepAlive: true }) };
  /** By which way calls came since the last look. */
  ways: Way[] = [];

  constructor(world: ReturnType<typeof createRelayWorld>) {
    this.#world = world;
  }

  /** Lets a relay listen that notes the ways. */
  serve(relay: Relay): Promise<string> {
    const listen = (...[req, res]: Parameters<Relay>) => {
      this.ways.push("body" in req ? "ours" : "node's");
      relay(req, res);
    };
    return this.#world.serve(Object.assign(listen, relay));
  }

  /** Calls and reads all that comes. */
  ask(
    way: Way,
    url: string,
    { path = "/v1/chat/completions", body = QUESTION, key }: Ask = {},
  ): Promise<Seen> {
    const headers = {
      authorization: `Bearer ${key ?? this.#world.token.key}`,
      "content-type": "application/json",
      ...(way === "ours" ? {} : { te: "trailers" }),
    };
    return new Promise((resolve, reject) => {
      const call = request(`${url}${path}`, { method: "POST", agent: this.#agents[way], headers });
      call.on("error", reject).on("response", (res) => {
        let text = "";
        res.setEncoding("latin1").on("data", (piece: string) => {
          text += piece;
        });
        res
          .on("error", () => undefined)
          .on("close", () => {
            const { statusCode: status = 0, statusMessage: words = "" } = res;
            resolve({ status, words, headers: res.headers, text, isWhole: res.complete });
          });
      });
      call.end(typeof body === "string" ? body : JSON.stringify(body));
    });
  }

  /**
   * All that one call leaves behind, without what is its own: what its client saw, the line for the operator, and the books. The entry of
   * a failed call, which is made a while after its answer, is waited for and shown where `isNoted`.
   */
  async storyOf(way: Way, act: () => Promise<unknown>, isNoted = false) {
    const { db, events } = this.#world.ctx;
    const told = vi.spyOn(events, "relayDone");
    const before = (await this.#world.money()).quota;
    const seen = await act();
    await until(() => told.mock.calls.length > 0);
    const [[line] = []] = told.mock.calls;
    told.mockRestore();
    if (line === undefined) throw new Error("nothing was told");
    const { requestId, fault, userId } = line;
    await expect.poll(async () => (await this.#world.money()).open).toBe(0);
    const rowsOf = (table: "logs" | "ledger") =>
      db.selectFrom(table).selectAll().where("request_id", "=", requestId).execute();
    if (isNoted && fault !== "" && fault !== "client_gone" && userId !== 0)
      await expect.poll(async () => (await rowsOf("logs")).length).toBeGreaterThan(0);
    const logs = isNoted || fault === "" ? await rowsOf("logs") : [];
    const ledger = await rowsOf("ledger");
    const charged = before - (await this.#world.money()).quota;
    expect(this.ways.splice(0)).toEqual([way]);
    return { line, charged, story: masked({ seen, line, logs, ledger, charged }, requestId) };
  }
}

// The relay's door, inwards: paths → what is asked (contract 8.1), and a request's headers and body, read once and bounded. Talks to
// no database.
import type { IncomingMessage, ServerResponse } from "node:http";
import { identifyCaller } from "#server/accounts/address.ts";
import type { Cancellation } from "#server/upstream/hub.ts";
import type { BillingPart } from "./billing.ts";
import type { TextEndpoint } from "./incoming.ts";
import { Refusal, refusals } from "./refusal.ts";
import { Roster } from "./roster.ts";

/** What node:http gives; named here so that the other rooms need not know it. */
export type RelayRequest = IncomingMessage;
export type RelayResponse = ServerResponse;

export type Route =
  | { readonly kind: "relay"; readonly endpoint: TextEndpoint; readonly pathModel: string | undefined }
  | { readonly kind: "models" }
  | { readonly kind: "model"; readonly id: string }
  | { readonly kind: "billing"; readonly part: BillingPart }
  /** Known to OpenAI's clients, not served here: the token is checked, then 501. */
  | { readonly kind: "absent" }
  | { readonly kind: "unknown" };

const RELAYED: ReadonlyMap<string, Route> = new Map(
  (
    [
      ["/v1/chat/completions", "chat"],
      ["/v1/completions", "completions"],
      ["/v1/embeddings", "embeddings"],
    ] as const
  ).map(([path, endpoint]) => [path, { kind: "relay", endpoint, pathModel: undefined }]),
);

/** Source: contract 8.1, providers 3.1. */
const ABSENT =
  /^\/v1\/(edits|moderations|responses|messages|rerank|realtime|images\/(generations|edits|variations)|audio\/(speech|transcriptions|translations)|(files|fine_tuning|fine-tunes|assistants|threads|batches|vector_stores|uploads)(\/.*)?)$/;
const ENGINE_EMBEDDINGS = /^\/v1\/engines\/([^/]+)\/embeddings$/;
const MODEL = /^\/v1\/models\/(.+)$/;
const BILLING = /^(?:\/v1)?\/dashboard\/billing\/(subscription|usage)$/;

/** Tells what a path asks for. One trailing slash does not matter. */
export function findRoute(method: string, path: string): Route {
  const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  const served = method === "POST" ? postRoute(plain) : getRoute(method, plain);
  return served ?? (ABSENT.test(plain) ? { kind: "absent" } : { kind: "unknown" });
}

function postRoute(path: string): Route | undefined {
  const relayed = RELAYED.get(path);
  if (relayed !== undefined) return relayed;
  const engine = ENGINE_EMBEDDINGS.exec(path)?.[1];
  return engine === undefined
    ? undefined
    : { kind: "relay", endpoint: "embeddings", pathModel: decode(engine) };
}

function getRoute(method: string, path: string): Route | undefined {
  const id = MODEL.exec(path)?.[1];
  if (method === "DELETE") return id === undefined ? undefined : { kind: "absent" };
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (path === "/v1/models") return { kind: "models" };
  const part = BILLING.exec(path)?.[1];
  if (part === "subscription" || part === "usage") return { kind: "billing", part };
  return id === undefined ? undefined : { kind: "model", id: decode(id) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A URL's path and what its query says to the relay. */
export function splitUrl(url: string): { path: string; apiVersion: string } {
  const query = url.indexOf("?");
  if (query < 0) return { path: url, apiVersion: "" };
  return {
    path: url.slice(0, query),
    apiVersion: new URLSearchParams(url.slice(query + 1)).get("api-version") ?? "",
  };
}

/** The headers a key may come in, best first (providers 3.2). */
export function offersOf(req: RelayRequest): string[] {
  const { authorization, "x-api-key": xApiKey, "api-key": apiKey } = req.headers;
  if (xApiKey === undefined && apiKey === undefined)
    return authorization === undefined ? [] : [authorization];
  return [authorization, xApiKey, apiKey].filter(
    (offer) => typeof offer === "string" && offer !== "",
  ) as string[]; // filtered to strings
}

/** The client's address, behind trusted proxies too. */
export function addressOf(req: RelayRequest, trustedProxies: readonly string[]): string {
  const peer = req.socket.remoteAddress ?? "";
  const header = (name: string) => {
    const value = req.headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return trustedProxies.length === 0 ? peer : identifyCaller(peer, header, trustedProxies).address;
}

/** Source: reliability R04. */
export const BODY_LIMIT_BYTES = 32 * 1024 * 1024;
/** Between two looks this much must have come, else the client is too slow (reliability R02). */
const LEAST_BYTES = 16 * 1024;
const LOOK_MS = 30_000;
const SWEEP_MS = 1_000;

/** A body on its way. */
interface Reading {
  lookAtMs: number;
  bytes: number;
  bytesAtLook: number;
  readonly giveUp: () => void;
}

/** Reads a body whole. Throws: Refusal 413, 415, 408, or 400 when the client breaks off. */
export type ReadBody = (req: RelayRequest, gone: Cancellation) => Promise<Buffer>;

/** Makes a reader with one timer for all bodies: a timer each would cost more than reading most of them. */
export function createBodyReader(): ReadBody {
  const readings = new Roster<Reading>();
  const sweep = () => {
    const now = performance.now();
    for (const reading of readings.list()) {
      if (now < reading.lookAtMs) continue;
      if (reading.bytes - reading.bytesAtLook < LEAST_BYTES) reading.giveUp();
      reading.bytesAtLook = reading.bytes;
      reading.lookAtMs = now + LOOK_MS;
    }
  };
  setInterval(sweep, SWEEP_MS).unref();
  return (req, gone) => {
    const coding = req.headers["content-encoding"];
    if (coding !== undefined && coding !== "identity") throw new Refusal(refusals.bodyCoded());
    const announced = Number(req.headers["content-length"] ?? 0);
    if (announced > BODY_LIMIT_BYTES) throw new Refusal(refusals.bodyTooLarge());
    return collect(req, gone, readings);
  };
}

function collect(req: RelayRequest, gone: Cancellation, readings: Roster<Reading>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const stop = (refusal: Refusal) => {
      readings.remove(seat);
      req.removeAllListeners("data");
      req.pause();
      reject(refusal);
    };
    const reading: Reading = {
      lookAtMs: performance.now() + LOOK_MS,
      bytes: 0,
      bytesAtLook: 0,
      giveUp: () => stop(new Refusal(refusals.bodyTooSlow())),
    };
    req.on("data", (chunk: Buffer) => {
      reading.bytes += chunk.length;
      chunks.push(chunk);
      if (reading.bytes > BODY_LIMIT_BYTES) stop(new Refusal(refusals.bodyTooLarge()));
    });
    req.on("end", () => {
      readings.remove(seat);
      gone.watch(undefined);
      const [first] = chunks;
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
    });
    const seat = readings.add(reading);
    gone.watch(() => stop(new Refusal(refusals.bodyBroken())));
  });
}

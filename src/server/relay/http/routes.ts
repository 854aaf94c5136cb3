// The relay's routes: paths → endpoints (requirements W8.1), and what a request's headers say. Reads no database.
import type { TextEndpoint } from "#contract/providers.ts";
import { type MediaEndpoint, RELAY_ENDPOINTS, relayPath } from "#contract/relay-endpoint.ts";
import { identifyClient } from "#server/address.ts";
import type { RelayRequest } from "./exchange.ts";

/** Gemini's embeddings: of one content, or of many. */
export type EmbedKind = "one" | "many";
/** The format in which models are listed. */
export type ListFormat = "openai" | "anthropic" | "gemini";
/** The paths of OpenAI's billing dashboard. */
export type BillingPart = "subscription" | "usage";
/** What a key may read of itself, in the form of OpenRouter, of New API, and with its limits alone. */
export type OwnPart = "key" | "token" | "limits";

/** A request that goes to a channel. */
export interface RelayRoute {
  readonly kind: "relay";
  readonly endpoint: TextEndpoint;
  /** The model for a body without one. */
  readonly pathModel: string | undefined;
  /** The path says whether a stream is wanted (Gemini); undefined = the body does. */
  readonly isStream?: boolean;
  /** Embeddings in Gemini's format; undefined = in OpenAI's. */
  readonly embed?: EmbedKind;
  /** A conversation is to be made short (vendors/responses-stored). */
  readonly isCompact?: boolean;
}

/** How many tokens a request would be (vendors/claude-count, vendors/gemini-clients). */
export interface CountRoute {
  readonly kind: "count";
  readonly endpoint: "messages" | "generate";
  readonly pathModel: string | undefined;
}

/** Pictures and sound. */
export interface TaskRoute {
  readonly kind: "task";
  readonly endpoint: MediaEndpoint;
  readonly pathModel: undefined;
}

/** Videos, which are made in the background. */
export interface VideoRoute {
  readonly kind: "video";
  readonly verb: "submit" | "list" | "get" | "content" | "cancel" | "delete";
  /** "" = no video is named. */
  readonly id: string;
}

/** A response that an upstream keeps (vendors/responses-stored). */
export interface StoredRoute {
  readonly kind: "stored";
  readonly verb: "get" | "input-items" | "cancel" | "delete";
  readonly id: string;
}

/** Files of batches, and batches (vendors/batch-openai). */
export interface BatchRoute {
  readonly kind: "batch";
  readonly of: "files" | "batches";
  readonly verb: "create" | "list" | "get" | "content" | "cancel" | "delete";
  /** "" = none is named. */
  readonly id: string;
}

export type Route =
  | RelayRoute
  | BatchRoute
  | StoredRoute
  | VideoRoute
  | TaskRoute
  | { readonly kind: "models" }
  | { readonly kind: "model"; readonly id: string }
  | { readonly kind: "billing"; readonly part: BillingPart }
  | { readonly kind: "own"; readonly part: OwnPart }
  | CountRoute
  /** For WebSockets only. */
  | { readonly kind: "upgrade" }
  /** Known to OpenAI's clients, not served here: the token is checked, then 501. */
  | { readonly kind: "absent" }
  | { readonly kind: "unknown" };

export const RESPONSES = relayPath("responses");

const RELAYED: ReadonlyMap<string, Route> = new Map(
  RELAY_ENDPOINTS.flatMap((row): [string, Route][] =>
    row.kind === "text" ? [[row.path, { kind: "relay", endpoint: row.name, pathModel: undefined }]] : [],
  ),
);

const COMPACT: RelayRoute = {
  ...{ kind: "relay", endpoint: "responses", pathModel: undefined },
  ...{ isStream: false, isCompact: true },
};

const TASKS: ReadonlyMap<string, MediaEndpoint> = new Map(
  RELAY_ENDPOINTS.flatMap((row) => (row.kind === "media" ? [[row.path, row.name]] : [])),
);

const COUNT = relayPath("count-messages");
const COMPACT_PATH = relayPath("compact");
export const REALTIME = relayPath("realtime");

/** Source: requirements W8.1, T3.1; of Responses all that needs state at an upstream (vendors/responses-stored). */
const ABSENT =
  /^\/v1\/(responses\/.+|(fine_tuning|fine-tunes|assistants|threads|vector_stores|uploads|conversations)(\/.*)?)$/;
/** Source: vendors/gemini-clients. SDKs send v1beta, or v1 or v1alpha when configured. */
const GEMINI =
  /^\/v1(?:alpha|beta)?\/models\/([^:]+):(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/;
const ENGINE_EMBEDDINGS = /^\/v1\/engines\/([^/]+)\/embeddings$/;
const MODEL = /^\/v1(?:alpha|beta)?\/models\/(.+)$/;
const MODELS = /^\/v1(?:alpha|beta)?\/models$/;
const GEMINI_LIST = /^\/v1(?:alpha|beta)\/models/;
const OWN_PARTS: ReadonlyMap<string, OwnPart> = new Map([
  ["/v1/key", "key"],
  ["/api/usage/token", "token"],
  ["/v1/usage", "limits"],
]);
const BILLING = /^(?:\/v1)?\/dashboard\/billing\/(subscription|usage)$/;

/** OpenAI's paths, and the one of other gateways (`vendors/video-openai`). */
const VIDEO = /^\/v1\/(?:videos|video\/generations)(?:\/([^/]+)(?:\/(content|cancel))?)?$/;

/** undefined = there is no such call. */
function videoRoute(method: string, path: string): VideoRoute | undefined {
  const found = VIDEO.exec(path);
  if (found === null) return undefined;
  const [, id = "", part] = found;
  const isGet = method === "GET" || method === "HEAD";
  const verbs = { content: isGet && "content", cancel: method === "POST" && "cancel" } as const;
  const verb =
    part === "content" || part === "cancel" ? verbs[part] : id === "" ? verbOfAll(method) : verbOfOne(method);
  return verb === false ? undefined : { kind: "video", verb, id: decode(id) };
}

function verbOfAll(method: string): VideoRoute["verb"] | false {
  return method === "POST" ? "submit" : (method === "GET" || method === "HEAD") && "list";
}

function verbOfOne(method: string): VideoRoute["verb"] | false {
  return method === "DELETE" ? "delete" : (method === "GET" || method === "HEAD") && "get";
}

const STORED = /^\/v1\/responses\/([^/]+)(?:\/(input_items|cancel))?$/;

/** undefined = there is no such call. */
function storedRoute(method: string, path: string): StoredRoute | undefined {
  const [, id, part] = STORED.exec(path) ?? [];
  if (id === undefined) return undefined;
  const verb = STORED_VERBS.get(`${method} ${part ?? ""}`);
  return verb && { kind: "stored", verb, id: decode(id) };
}

const STORED_VERBS: ReadonlyMap<string, StoredRoute["verb"]> = new Map([
  ["GET ", "get"],
  ["GET input_items", "input-items"],
  ["POST cancel", "cancel"],
  ["DELETE ", "delete"],
]);

const BATCH = /^\/v1\/(files|batches)(?:\/([^/]+)(?:\/(content|cancel))?)?$/;
const BATCH_VERBS: ReadonlyMap<string, BatchRoute["verb"]> = new Map([
  ["POST files", "create"],
  ["GET files", "list"],
  ["GET files/", "get"],
  ["GET files/content", "content"],
  ["DELETE files/", "delete"],
  ["POST batches", "create"],
  ["GET batches", "list"],
  ["GET batches/", "get"],
  ["POST batches/cancel", "cancel"],
]);

/** undefined = there is no such call. */
function batchRoute(method: string, path: string): BatchRoute | undefined {
  const [, of, id, part = ""] = BATCH.exec(path) ?? [];
  if (of !== "files" && of !== "batches") return undefined;
  const called = method === "HEAD" ? "GET" : method;
  const verb = BATCH_VERBS.get(`${called} ${of}${id === undefined ? "" : `/${part}`}`);
  return verb && { kind: "batch", of, verb, id: decode(id ?? "") };
}

/** The route of a path. One trailing slash does not matter. */
export function findRoute(method: string, path: string): Route {
  const plain = plainPath(path);
  const served = method === "POST" ? postRoute(plain) : getRoute(method, plain);
  if (served === undefined && plain.startsWith("/v1/video"))
    return videoRoute(method, plain) ?? { kind: "unknown" };
  if (served === undefined && plain.startsWith("/v1/responses/"))
    return storedRoute(method, plain) ?? { kind: "absent" };
  if (served === undefined && BATCH.test(plain)) return batchRoute(method, plain) ?? { kind: "unknown" };
  return served ?? (ABSENT.test(plain) ? { kind: "absent" } : { kind: "unknown" });
}

/** One trailing slash does not matter, and Google's address for OpenAI clients works like ours. */
export function plainPath(path: string): string {
  const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  return plain.startsWith("/v1beta/openai/") ? `/v1/${plain.slice("/v1beta/openai/".length)}` : plain;
}

function postRoute(path: string): Route | undefined {
  const relayed = RELAYED.get(path);
  if (relayed !== undefined) return relayed;
  const task = TASKS.get(path);
  if (task !== undefined) return { kind: "task", endpoint: task, pathModel: undefined };
  if (path === COMPACT_PATH) return COMPACT;
  if (path === COUNT) return { kind: "count", endpoint: "messages", pathModel: undefined };
  const [, model, action] = GEMINI.exec(path) ?? [];
  if (model !== undefined) return geminiRoute(decode(model), action);
  const engine = ENGINE_EMBEDDINGS.exec(path)?.[1];
  return engine === undefined
    ? undefined
    : { kind: "relay", endpoint: "embeddings", pathModel: decode(engine) };
}

/** Source: vendors/gemini-clients. */
function geminiRoute(pathModel: string, action: string | undefined): Route {
  switch (action) {
    case "countTokens":
      return { kind: "count", endpoint: "generate", pathModel };
    case "embedContent":
      return { kind: "relay", endpoint: "embeddings", pathModel, embed: "one" };
    case "batchEmbedContents":
      return { kind: "relay", endpoint: "embeddings", pathModel, embed: "many" };
    default: {
      const isStream = action === "streamGenerateContent";
      return { kind: "relay", endpoint: "generate", pathModel, isStream };
    }
  }
}

function getRoute(method: string, path: string): Route | undefined {
  const id = MODEL.exec(path)?.[1];
  if (method === "DELETE") return id === undefined ? undefined : { kind: "absent" };
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (MODELS.test(path)) return { kind: "models" };
  // Codex's WebSocket, whose upgrade a proxy on the way took out: upon 426 it goes on by HTTP (vendors/codex).
  if (path === REALTIME || path === RESPONSES) return { kind: "upgrade" };
  const part = BILLING.exec(path)?.[1];
  if (part === "subscription" || part === "usage") return { kind: "billing", part };
  const own = OWN_PARTS.get(path);
  if (own !== undefined) return { kind: "own", part: own };
  return id === undefined ? undefined : { kind: "model", id: decode(id) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A URL's path, and what the URL says besides. */
export interface Asked {
  readonly path: string;
  /** The model, whatever the body names: Azure's clients write it into the address. */
  readonly deployment: string | undefined;
  /** "" = none. */
  readonly apiVersion: string;
  /** Gemini's key in the query; "" = none. */
  readonly key: string;
  /** Gemini's events instead of one JSON array. */
  readonly wantsEvents: boolean;
}

const OWN = /^\/(v1|v1alpha|v1beta|openai|dashboard\/billing|api\/usage\/token|rerank)(\/|\?|$)/;
/**
 * The paths of clients that were given the address without its version. A path that is added here must not be a page of the console:
 * visitors would get the relay's answer there.
 */
const BARE: ReadonlySet<string> = new Set([...RELAYED.keys(), ...TASKS.keys(), COUNT, REALTIME]);
/** Served only with a key, or as a browser's preflight: visitors may look for such a page. */
const BARE_MODELS = /^\/models(\/|\?|$)/;
/** For clients whose SDK adds a version to an address that has one already (`…/v1` and `/v1/messages`). */
const VERSION_TWICE = /^\/v1(?=\/(v1(alpha|beta)?|openai)\/)/;
/** Addresses as Azure's SDKs build them: after `/openai/` a deployment, the version, or neither. */
const AZURE = /^\/openai\/(?:deployments\/([^/?]+)\/|v1\/)?/;

function isBare(url: string): boolean {
  const at = url.indexOf("?");
  return BARE.has(plainPath(`/v1${at < 0 ? url : url.slice(0, at)}`));
}

/** Whether a request is for the relay. */
export function isRelayed({ method, url = "", headers }: RelayRequest): boolean {
  if (OWN.test(url) || isBare(url)) return true;
  const isKeyed = (headers.authorization ?? headers["x-api-key"] ?? headers["api-key"]) !== undefined;
  return BARE_MODELS.test(url) && (isKeyed || method === "OPTIONS");
}

/** The URL with one version, and the deployment that Azure's clients name. */
function versioned(asked: string): [url: string, deployment: string | undefined] {
  const url = asked.replace(VERSION_TWICE, "");
  if (url.startsWith("/v1")) return [url, undefined];
  const [azure, deployment] = AZURE.exec(url) ?? [];
  if (azure !== undefined) return [`/v1/${url.slice(azure.length)}`, deployment && decode(deployment)];
  return [isBare(url) || BARE_MODELS.test(url) ? `/v1${url}` : url, undefined];
}

export function splitUrl(url: string): Asked {
  const [asked, deployment] = versioned(url);
  const at = asked.indexOf("?");
  if (at < 0) return { path: asked, deployment, apiVersion: "", key: "", wantsEvents: false };
  const query = new URLSearchParams(asked.slice(at + 1));
  return {
    path: asked.slice(0, at),
    deployment,
    apiVersion: query.get("api-version") ?? "",
    key: query.get("key") ?? "",
    wantsEvents: query.get("alt") === "sse",
  };
}

/** The headers a key may come in, best first, and Gemini's query (requirements T3.2). */
export function offersOf(req: RelayRequest, queryKey = ""): string[] {
  const { authorization, "x-api-key": xApiKey, "api-key": apiKey, "x-goog-api-key": googKey } = req.headers;
  if (xApiKey === undefined && apiKey === undefined && googKey === undefined && queryKey === "")
    return authorization === undefined ? [] : [authorization];
  return [authorization, xApiKey, googKey, apiKey, queryKey].filter(
    (offer) => typeof offer === "string" && offer !== "",
  ) as string[]; // filtered to strings
}

/** The format of the model list that a client reads (requirements T3.4). */
export function listFormat({ headers }: RelayRequest, { path, key }: Asked): ListFormat {
  if (GEMINI_LIST.test(path) || headers["x-goog-api-key"] !== undefined || key !== "") return "gemini";
  return headers["anthropic-version"] === undefined ? "openai" : "anthropic";
}

/** Headers that belong to a client format and go on to an upstream of the same format (vendors/claude-code, requirements T1.3). */
const FORMAT_HEADERS: Readonly<Partial<Record<TextEndpoint | MediaEndpoint, readonly string[]>>> = {
  messages: ["anthropic-version", "anthropic-beta"],
  responses: ["openai-beta"],
};

const NO_HEADERS: readonly string[] = [];

/** Those of a request, names and values in turn. */
export function formatHeaders(req: RelayRequest, endpoint: TextEndpoint | MediaEndpoint): readonly string[] {
  return (
    FORMAT_HEADERS[endpoint]?.flatMap((name) => {
      const value = req.headers[name];
      return typeof value === "string" ? [name, value] : [];
    }) ?? NO_HEADERS
  );
}

/** Headers by which clients name a conversation (vendors/claude-code, vendors/codex). */
const SESSION_HEADERS = ["session_id", "session-id", "x-session-id", "x-claude-code-session-id"] as const;
const MAX_SESSION = 256;

/** The conversation that a header names; "" = none. */
export function sessionOf({ headers }: RelayRequest): string {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value.slice(0, MAX_SESSION);
  }
  return "";
}

/** The client's address, behind trusted proxies too. */
export function addressOf(req: RelayRequest, trustedProxies: readonly string[]): string {
  const peer = req.socket.remoteAddress ?? "";
  if (trustedProxies.length === 0) return peer;
  const header = (name: string) => {
    const value = req.headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return identifyClient(peer, header, trustedProxies).address;
}

// The whole server behind one listener: relay paths go straight to relay/, everything else to Hono (api, ops, console).
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { Hono, type HonoRequest } from "hono";
import { compress } from "hono/compress";
import type { Language } from "#contract/language.ts";
import type { RequestOrigin } from "#server/accounts/proxy-signs.ts";
import { BASE_HEADERS, createApi, STRICT_TRANSPORT } from "#server/api/mount.ts";
import { createConsoleFiles, isAsset } from "#server/app/console-files.ts";
import { continueInTurn, EarlyAnswer, endWithConnection, holdBody } from "#server/app/early-answer.ts";
import { createPressure } from "#server/app/pressure.ts";
import { asksForPage, waitPage } from "#server/app/wait-page.ts";
import type { Context } from "#server/context.ts";
import { type AppError, asAppError, faults, renderEnvelope, unknownPathError } from "#server/errors.ts";
import { createOps } from "#server/ops.ts";
import { createRelay } from "#server/relay/relay.ts";
import { newRequestId } from "#server/secrets.ts";
import { identifyClient } from "./address.ts";
import { clearOnly, isAmbiguous } from "./app/early-answer.ts";
import { limitAddress } from "./limits/limits.ts";
import { languageOf } from "./locale/language.ts";
import { say } from "./locale/sentences.ts";
import { InFlight, limitStall, STALL_MS } from "./relay/http/client-response.ts";
import { localErrors } from "./relay/http/local-errors.ts";
import { isRelayed } from "./relay/http/routes.ts";

export interface App {
  readonly listener: RequestListener;
  /** Takes an upgrade to WebSocket. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Answers without a socket, for tests: management API, ops and console, not the relay. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Counts the connections of a server, so that the process never takes more than it can hold. */
  attach(server: Server): void;
  /** From now on: not ready, and connections end with their answer. */
  drain(): void;
  /** Ends relayed calls that still run, with an error for their clients. Resolves when they are settled. */
  cut(): Promise<void>;
}

interface Env {
  Bindings: { incoming?: { socket?: { remoteAddress?: string | undefined } } };
}

const CONSOLE_ROOT = fileURLToPath(new URL("../../dist/console/", import.meta.url));
/** A body of a management call must be here by then. */
const BODY_TIMEOUT_MS = 30_000;

/** Builds the application over a context. */
export function createApp(ctx: Context): App {
  let isDraining = false;
  /** Answers that are not the relay's, which knows its own. */
  const open = new InFlight<ServerResponse>();
  const relay = createRelay(ctx);
  const site = createSite(ctx, () => isDraining);
  const pressure = createPressure(ctx.config);
  ctx.stopping.addEventListener("abort", () => pressure.close(), { once: true });
  const serveSite = getRequestListener((request, env) => site.fetch(request, env), {
    overrideGlobalObjects: false,
  });
  /** Whether a call, or a conversation, is turned away now; that is counted. */
  function shedsCall(): boolean {
    const isTooMuch = pressure.shedsCalls();
    if (isTooMuch) ctx.events.rateLimited({ limit: "overload_calls", address: "" });
    return isTooMuch;
  }
  const listen: RequestListener = (req, res) => {
    if (isDraining) res.setHeader("Connection", "close");
    holdBody(req);
    endWithConnection(req, res);
    if (ctx.defaultPassword.isInUse) ctx.proxySigns.look(originOf(req));
    if (isRelayed(req)) {
      if (shedsCall()) relay.turnAway(req, res, localErrors.overloaded());
      else relay(req, res);
      return;
    }
    if (pressure.shedsGuests() && isGuest(req)) {
      ctx.events.rateLimited({ limit: "overload_guests", address: "" });
      turnAway(ctx, { req, res }, faults.overloaded());
      return;
    }
    const entry = open.add(res);
    res.once("close", () => open.remove(entry));
    limitBodyTime(req, res);
    limitStall(res, STALL_MS);
    void serveSite(req, res);
  };
  return {
    listener: clearOnly(listen, (req, res) => {
      if (isRelayed(req)) relay.turnAway(req, res, localErrors.ambiguous());
      else turnAway(ctx, { req, res }, faults.ambiguous());
    }),
    upgrade(req, socket, head) {
      if (isAmbiguous(req)) relay.decline(socket, localErrors.ambiguous());
      else if (isDraining) relay.decline(socket, localErrors.serverStopping());
      else if (shedsCall()) relay.decline(socket, localErrors.overloaded());
      else relay.upgrade(req, socket, head, shedsCall);
    },
    request: async (path, init) => site.request(path, init),
    attach: (server) => pressure.attach(server),
    drain() {
      isDraining = true;
      // Answers to calls that came before say it too, so that no client sends another on the same connection (requirements G02).
      for (const res of open.list()) if (!res.headersSent) res.setHeader("Connection", "close");
      relay.drain();
    },
    cut: () => relay.cut(),
  };
}

/** The server around the listener. Bodies of relayed calls have no time limit here: the relay has its own. */
export function createHttpServer(app: App): Server {
  const server = createServer(
    {
      ServerResponse: EarlyAnswer,
      maxHeaderSize: 16 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      // Else a header timeout of 10 s could take 40 s (Node sweeps every 30 s by default).
      connectionsCheckingInterval: 1_000,
      noDelay: true,
      // Any other upgrade (h2c) is an offer that may be overlooked: its request is answered like every other.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    app.listener,
  );
  app.attach(server);
  server.on("checkContinue", continueInTurn(app.listener));
  server.on("upgrade", (req, socket, head) => app.upgrade(req, socket, head));
  return server;
}

function originOf({ socket, httpVersion, headers }: IncomingMessage): RequestOrigin {
  return {
    peer: socket.remoteAddress ?? "",
    httpVersion,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join() : value;
    },
  };
}

const OPERATORS = /^\/(healthz|readyz|metrics)$/;

/** Whether a request shows no login and is not one of an operator's tool. */
function isGuest({ url, headers }: IncomingMessage): boolean {
  if (OPERATORS.test(url ?? "")) return false;
  return headers.authorization === undefined && !/(^|[ -])session=/.test(headers.cookie ?? "");
}

/** Answers a client before any handler sees its request, and says when to come again if that helps; the connection ends. */
function turnAway(
  ctx: Context,
  { req, res }: { readonly req: IncomingMessage; readonly res: ServerResponse },
  error: AppError,
): void {
  const body = JSON.stringify(renderEnvelope(error, languageOf(originOf(req).header)));
  res.shouldKeepAlive = false;
  res.writeHead(error.status, {
    ...BASE_HEADERS,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    ...(error.retryAfterSec !== undefined && { "Retry-After": String(error.retryAfterSec) }),
    "X-Oneapi-Request-Id": newRequestId(ctx.clock.now()),
  });
  res.end(body);
}

/** Ends a connection whose management call does not finish sending its body. */
function limitBodyTime(req: IncomingMessage, res: ServerResponse): void {
  const { "content-length": length, "transfer-encoding": coding } = req.headers;
  if (length === undefined && coding === undefined) return;
  const timer = setTimeout(() => {
    if (!req.complete) req.destroy();
  }, BODY_TIMEOUT_MS);
  res.on("close", () => clearTimeout(timer));
}

/** Long answers that hold no secret and nothing a caller wrote, so that their length tells nothing (requirements W1.1). */
const LONG_LISTS = ["/api/models", "/api/channel/models", "/api/option/"];

function createSite(ctx: Context, isDraining: () => boolean): Hono<Env> {
  const site = new Hono<Env>();
  const api = createApi(ctx);
  const consoleFiles = createConsoleFiles(CONSOLE_ROOT, ctx.clock.now);
  for (const path of LONG_LISTS) site.get(path, compress({ encoding: "gzip" }));
  site.all("/api", (http) => api.fetch(http.req.raw, http.env));
  site.all("/api/*", (http) => api.fetch(http.req.raw, http.env));
  site.route("/", createOps(ctx, isDraining));
  site.get("*", async (http) => {
    const headers = new Headers(consoleHeaders(ctx));
    const peer = http.env?.incoming?.socket?.remoteAddress ?? "127.0.0.1";
    const { address, isHttps } = identifyClient(
      peer,
      (name) => http.req.header(name),
      ctx.config.trustedProxies,
    );
    if (isHttps) headers.set("Strict-Transport-Security", STRICT_TRANSPORT);
    try {
      // A page is a hundred files, which lie in memory and are cached for ever: counted, four browsers behind one address were too many.
      if (!isAsset(http.req.path)) await limitAddress(ctx, "web", address);
    } catch (thrown) {
      return refusePage(asAppError(thrown).retryAfterSec ?? 1, http.req, headers);
    }
    const file = await consoleFiles.answer(http.req.path, {
      language: readBy(http.req),
      acceptEncoding: http.req.header("accept-encoding") ?? "",
      ifNoneMatch: http.req.header("if-none-match") ?? "",
    });
    for (const [name, value] of Object.entries(file?.headers ?? NOT_BUILT_HEADERS)) headers.set(name, value);
    if (!file) return new Response(NOT_BUILT, { status: 200, headers });
    return new Response(file.body, { status: file.status, headers });
  });
  site.onError((error, http) => {
    ctx.logger.error({ err: error, path: http.req.path }, "site failed");
    return http.json(renderEnvelope(asAppError(error), readBy(http.req)), 500, { ...BASE_HEADERS });
  });
  site.notFound((http) => {
    const { method, path } = http.req;
    return http.json(unknownPathError(method, path), 404, { ...BASE_HEADERS });
  });
  return site;
}

/** The language of the client that sent a request. */
function readBy(req: HonoRequest): Language {
  return languageOf((name) => req.header(name));
}

/** The family's empty 429; a browser that asks for a page gets one that says so and tries again. */
function refusePage(waitSec: number, req: HonoRequest, headers: Headers): Response {
  headers.set("Retry-After", String(waitSec));
  headers.set("Cache-Control", "no-store");
  if (!asksForPage((name) => req.header(name))) return new Response(null, { status: 429, headers });
  headers.set("Content-Type", "text/html; charset=utf-8");
  return new Response(say(waitPage(waitSec), readBy(req)), { status: 429, headers });
}

const NOT_BUILT = "The console has not been built yet: run `npm start`, which builds it.\n";
const NOT_BUILT_HEADERS = {
  "Content-Type": "text/plain; charset=utf-8",
  "Cache-Control": "no-cache",
} as const;

/**
 * No text becomes markup or script by itself: only through the console's own policies (base/trusted-types.ts, the sanitiser's).
 * Left out while the human check is on: Cloudflare does not promise that its script passes, and no user could log in if it did not.
 */
const TRUSTED_TYPES = ["require-trusted-types-for 'script'", "trusted-types default dompurify"];

/**
 * Headers of the console (requirements H03, H09). Styles may be inline because antd writes them at run time; scripts may
 * not. Frames may show the sites that the operator linked to, and no others.
 */
function consoleHeaders(ctx: Context): Record<string, string> {
  const turnstile = ctx.options.get("TurnstileCheckEnabled") ? " https://challenges.cloudflare.com" : "";
  const releases = ctx.options.get("ReleaseRepository") === "" ? "" : " https://api.github.com";
  const policy = [
    "default-src 'self'",
    `script-src 'self'${turnstile}`,
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' https: data:${namedOrigins(ctx, IMAGES, "http:")}`,
    "font-src 'self' data:",
    `connect-src 'self'${releases}`,
    `frame-src 'self'${turnstile}${namedOrigins(ctx, FRAMES)}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    ...(turnstile === "" ? TRUSTED_TYPES : []),
  ];
  return {
    ...BASE_HEADERS,
    "X-Oneapi-Request-Id": newRequestId(ctx.clock.now()),
    "Content-Security-Policy": policy.join("; "),
    "X-Frame-Options": "DENY",
  };
}

/** Pages and pictures that the operator may name by an address. */
const FRAMES = ["ChatLink", "PricingLink", "DocsLink", "CheapLink", "About", "HomePageContent"] as const;
const IMAGES = ["Logo", "WeChatAccountQRCodeImageURL"] as const;

/** A host as browsers write it; others could end a rule of the policy. */
const ORIGIN = /^https?:\/\/[\w.:[\]-]+$/;

/** The sites among what the operator named, all or those of one protocol, each with a space before it. */
function namedOrigins(
  { options }: Context,
  keys: readonly (typeof FRAMES | typeof IMAGES)[number][],
  protocol?: "http:",
): string {
  const origins = new Set<string>();
  for (const link of keys.map((key) => options.get(key).trim())) {
    if (!/^https?:\/\/\S+$/.test(link) || !URL.canParse(link)) continue;
    const url = new URL(link);
    if (ORIGIN.test(url.origin) && (protocol ?? url.protocol) === url.protocol) origins.add(` ${url.origin}`);
  }
  return [...origins].join("");
}

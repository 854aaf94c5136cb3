// The endpoint table becomes routes: limits, cross-site protection, sign-in, level, decoding, handler, encoding, envelope.
// One order for every call; resources know nothing of it.
import { Hono, type Context as HonoContext } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import type { Language } from "#contract/language.ts";
import { UserStatus } from "#contract/user.ts";
import { type Actor, accessTokenOf } from "#server/accounts/actors.ts";
import { confirmHuman, type ProtectedCall } from "#server/accounts/human.ts";
import { forbiddenField, maskedFields, mayCall } from "#server/accounts/may.ts";
import { SESSION_MAX_SEC } from "#server/accounts/sessions.ts";
import { refuseInView } from "#server/accounts/views.ts";
import { type Client, identifyClient } from "#server/address.ts";
import type { Context } from "#server/context.ts";
import { type AppError, asAppError, faults, renderEnvelope, unknownPathError } from "#server/errors.ts";
import { limitAddress } from "#server/limits/limits.ts";
import { languageOf } from "#server/locale/language.ts";
import { newRequestId, randomId } from "#server/secrets.ts";
import { isPassing } from "#server/store/fault.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { SessionHandle } from "./call.ts";
import { decode, jsonBody } from "./decode.ts";
import { DOCS_POLICY, docsFile, docsPaths } from "./docs-site.ts";
import { changesState, refuseClosed, refuseCrossSite } from "./guard.ts";
import { answerCallback, returnPath } from "./payment-callback.ts";
import { answerLogout } from "./provider-logout.ts";
import { type EndpointTable, type Route, routes } from "./routes.ts";
import { askAgain, refuseUnprotected } from "./step-up.ts";
import { actorOfSession } from "./views.ts";

/** Set on every answer of the server, API or not (requirements W1.4, H09). */
export const BASE_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
} as const;

/** A client that used TLS once uses TLS for a year (requirements H09). */
export const STRICT_TRANSPORT = "max-age=31536000";

/** What the node listener passes; absent when a test calls without a socket. */
interface Env {
  Bindings: { incoming?: { socket?: { remoteAddress?: string | undefined } } };
  Variables: {
    requestId: string;
    client: Client;
    language: Language;
    accessToken: string | undefined;
    onCredit: boolean;
  };
}
type Http = HonoContext<Env>;

/** How long a browser keeps the id that binds states and proofs to it; these last 10 minutes. */
const BROWSER_SEC = 3600;
const DENIAL_MS = 3_600_000;

/**
 * Builds the management API as an app of its own; it answers everything below /api. Throws: when an endpoint of the table
 * has no level (requirements Z01).
 */
export function createApi(ctx: Context, table: EndpointTable = api): Hono<Env> {
  const app = new Hono<Env>();
  app.use("*", async (http, next) => {
    introduce(ctx, http);
    await next();
  });
  for (const route of routes(table)) {
    const path = route.endpoint.path.replace(/\/$/, "");
    app.on(route.endpoint.method, [path, `${path}/`], (http) => serve(ctx, http, route));
  }
  app.on(["GET", "POST"], "/api/payment/notify/:slug", (http) => serveCallback(ctx, http));
  app.post("/api/oauth/:slug/backchannel", (http) => serveLogout(ctx, http));
  app.get("/api/payment/return/:no", (http) => http.redirect(returnPath(http.req.param("no")), 303));
  for (const path of docsPaths) app.get(path, (http) => serveDocs(ctx, http, path));
  app.get("/api/docs/", (http) => serveDocs(ctx, http, "/api/docs"));
  app.notFound(async (http) => {
    const { client } = http.var;
    try {
      await limitAddress(ctx, "api", client.address);
    } catch (error) {
      return renderFailure(http, failureOf(error));
    }
    return http.json(unknownPathError(http.req.method, http.req.path), 404);
  });
  return app;
}

/** What a payment provider tells us. It learns whether it was taken, and nothing else. */
async function serveCallback(ctx: Context, http: Http): Promise<Response> {
  try {
    const { address } = http.var.client;
    const answer = await answerCallback(ctx, http.req.raw, { slug: http.req.param("slug") ?? "", address });
    return answer ?? http.body(null, 404);
  } catch (thrown) {
    const { status } = failureOf(thrown);
    if (status >= 500)
      ctx.logger.error({ err: thrown, requestId: http.var.requestId }, "payment notice failed");
    // A refusal by a rule is no success either: the provider has to come again.
    return http.body(null, status === 413 || status === 429 ? status : 503);
  }
}

/** What a login provider tells of people who have left. It learns whether it was taken, and nothing else. */
async function serveLogout(ctx: Context, http: Http): Promise<Response> {
  const { client, requestId } = http.var;
  try {
    const slug = http.req.param("slug") ?? "";
    await answerLogout(ctx, http.req.raw, { slug, address: client.address, requestId });
    return http.body(null, 200);
  } catch (thrown) {
    const { status } = failureOf(thrown);
    if (status >= 500) ctx.logger.error({ err: thrown, requestId }, "provider logout failed");
    return http.body(null, status === 413 || status === 429 ? status : status >= 500 ? 503 : 400);
  }
}

/** The API reference: the same for all clients, so it may be cached for a while. */
async function serveDocs(ctx: Context, http: Http, path: string): Promise<Response> {
  try {
    await limitAddress(ctx, "api", http.var.client.address);
  } catch (error) {
    return renderFailure(http, failureOf(error));
  }
  const { type, body } = docsFile(path, ctx.version, http.var.language);
  return http.body(body, 200, {
    "Content-Type": type,
    "Content-Security-Policy": DOCS_POLICY,
    "Cache-Control": "public, max-age=60",
    Vary: "Accept-Language, Cookie",
  });
}

/** Sets the id and the client of the request, and the headers that every answer has. */
function introduce(ctx: Context, http: Http): void {
  const requestId = newRequestId(ctx.clock.now());
  const peer = http.env?.incoming?.socket?.remoteAddress ?? "127.0.0.1";
  const client = identifyClient(peer, (name) => http.req.header(name), ctx.config.trustedProxies);
  http.set("requestId", requestId);
  http.set("client", client);
  http.set(
    "language",
    languageOf((name) => http.req.header(name)),
  );
  http.set("accessToken", accessTokenOf(http.req.header("authorization")));
  http.header("X-Oneapi-Request-Id", requestId);
  http.header("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(BASE_HEADERS)) http.header(name, value);
  if (client.isHttps) http.header("Strict-Transport-Security", STRICT_TRANSPORT);
}

async function serve(ctx: Context, http: Http, route: Route): Promise<Response> {
  const startMs = ctx.clock.now();
  let actorId = 0;
  let code = "";
  let response: Response;
  try {
    const actor = await enter(ctx, http, route.endpoint);
    actorId = actor?.viewer?.id ?? actor?.id ?? 0;
    response = await answer(ctx, http, route, actor).catch(async (thrown: unknown) => {
      // Here, where the transaction of the act is rolled back already and this row stays.
      const { code, detail } = asAppError(thrown);
      if (code === "denied" && actor)
        await auditDenial(ctx, http, { endpoint: route.endpoint, actor, about: detail });
      throw thrown;
    });
  } catch (thrown) {
    const error = failureOf(thrown);
    code = error.code;
    if (error.status >= 500) ctx.logger.error({ err: thrown, requestId: http.var.requestId }, "api failed");
    else if (error.detail)
      ctx.logger.debug({ requestId: http.var.requestId, detail: error.detail }, error.code);
    response = renderFailure(http, error);
  }
  ctx.events.apiDone({
    requestId: http.var.requestId,
    route: `${route.endpoint.method} ${route.endpoint.path}`,
    status: response.status,
    fault: code,
    elapsedMs: ctx.clock.now() - startMs,
    userId: actorId,
  });
  return response;
}

/** The checks before a handler: limits, cross-site protection, sign-in and level, switches, human check, in this order. */
async function enter(ctx: Context, http: Http, endpoint: Endpoint): Promise<Actor | undefined> {
  const { client } = http.var;
  await limitAddress(ctx, "api", client.address);
  const hasSession = sessionHandle(http).id !== undefined;
  const site = ctx.options.get("ServerAddress");
  refuseCrossSite(endpoint, http.req.raw.headers, { host: client.host, site, hasSession });
  if (endpoint.limit) await limitAddress(ctx, endpoint.limit, client.address);
  const actor = await admit(ctx, http, endpoint);
  refuseClosed(ctx, endpoint);
  http.set("onCredit", endpoint.turnstile === true && (await confirmHuman(ctx, visitOf(http, endpoint))));
  return actor;
}

/** The actor, when the level or the endpoint asks for it. Throws: 401, disabled, role too low. */
async function admit(ctx: Context, http: Http, endpoint: Endpoint): Promise<Actor | undefined> {
  if (endpoint.level === "public") {
    // What needs no login does not get past a view either: it may end the session, or bind what is the visitor's.
    const isAsked = endpoint.identifies || (changesState(endpoint) && sessionHandle(http).id !== undefined);
    const visitor = isAsked ? await signedIn(ctx, http).catch(onlyUnexpected) : undefined;
    refuseInView(endpoint, visitor, changesState(endpoint));
    if (!endpoint.identifies) return undefined;
    // Calls that are open to everybody act for an enabled person, or without an actor.
    if (visitor?.status !== UserStatus.enabled || visitor.service !== undefined) return undefined;
    await askAgain(ctx, endpoint, { actor: visitor, sessionId: sessionHandle(http).id });
    return visitor;
  }
  const actor = await signedIn(ctx, http);
  if (actor.status !== UserStatus.enabled) {
    const sessionId = sessionHandle(http).id;
    if (sessionId !== undefined) await ctx.sessions.end(sessionId);
    sessionHandle(http).clear();
    throw faults.accountDisabled();
  }
  refuseInView(endpoint, actor, changesState(endpoint));
  if (!mayCall(actor, endpoint)) {
    await auditDenial(ctx, http, { endpoint, actor, about: "" });
    throw faults.roleTooLow();
  }
  if (actor.viewer === undefined) await refuseUnprotected(ctx, endpoint, actor);
  await askAgain(ctx, endpoint, { actor, sessionId: sessionHandle(http).id });
  return actor;
}

/** Logs an act that was denied to the actor: once an hour per account, endpoint and target (requirements P05). */
async function auditDenial(
  ctx: Context,
  http: Http,
  { endpoint, actor, about }: { endpoint: Endpoint; actor: Actor; about: string },
): Promise<void> {
  const target = `${endpoint.method} ${endpoint.path}`;
  // Who only looks writes nothing, and least of all in the name of another.
  if (actor.viewer !== undefined) return;
  if (!(await ctx.coord.remember(`denied:${actor.id}:${target}:${about}`, DENIAL_MS))) return;
  const call = { ...callOf(http), actor };
  const act = { action: "auth.denied" as const, target, ...(about === "" ? {} : { detail: { about } }) };
  await audit(ctx, ctx.db, call, act);
}

/** What the audit log stores of a call beside its actor. */
function callOf(http: Http): Omit<ActCall, "actor"> {
  return { address: http.var.client.address, requestId: http.var.requestId };
}

/** A visitor is no actor; an unexpected error is thrown on. */
function onlyUnexpected(error: unknown): undefined {
  if (asAppError(error).status === 500) throw error;
}

/** The part of a call that the human check needs. */
function visitOf(http: Http, endpoint: Endpoint): ProtectedCall {
  const { address } = http.var.client;
  const proof = http.req.query("turnstile") ?? "";
  return { path: endpoint.path, proof, address, browserId: sessionHandle(http).browserId };
}

/** Session first, then access token (requirements W2.5). Throws: 401 without either, 200 for an unknown access token. */
async function signedIn(ctx: Context, http: Http): Promise<Actor> {
  const sessionId = sessionHandle(http).id;
  if (sessionId !== undefined) {
    const session = await ctx.sessions.find(sessionId, http.var.client.address);
    const actor = session && (await actorOfSession(ctx, session, callOf(http)));
    if (actor) return actor;
  }
  const { accessToken } = http.var;
  if (accessToken === undefined) throw faults.notSignedIn();
  const actor = await ctx.actors.byAccessToken(accessToken, http.var.client.address);
  if (!actor) throw faults.accessTokenUnknown();
  return actor;
}

/** Decodes, calls the handler, encodes. */
async function answer(ctx: Context, http: Http, route: Route, actor: Actor | undefined): Promise<Response> {
  const { endpoint } = route;
  const body =
    endpoint.body && decode(endpoint.body, await jsonBody(http.req.raw, endpoint, actor !== undefined));
  const field = actor && forbiddenField(actor, endpoint.needs, body);
  if (field !== undefined) throw faults.denied("权限不够，无法修改这一项", field);
  const result: unknown = await route.handler(ctx, {
    actor,
    requestId: http.var.requestId,
    address: http.var.client.address,
    isLocal: http.var.client.isLocal,
    agent: http.req.header("user-agent") ?? "",
    language: http.var.language,
    onCredit: http.var.onCredit,
    accessToken: http.var.accessToken,
    idempotencyKey: idempotencyKeyOf(ctx, http, endpoint, actor),
    session: sessionHandle(http),
    params: endpoint.params && decode(endpoint.params, http.req.param()),
    query: endpoint.query && decode(endpoint.query, queryOf(http)),
    body,
  });
  if (!endpoint.beside)
    return send(http, { success: true, message: "", data: z.encode(endpoint.data, result) });
  // An endpoint with `beside` answers `{ data, … }`: AnswerOf in the contract, checked in handlers.ts.
  const { data, ...beside } = result as { data: unknown };
  if (actor) mask(data, maskedFields(actor, endpoint));
  // An encoded object schema is a record.
  const siblings = z.encode(endpoint.beside, beside) as Record<string, unknown>;
  return send(http, { success: true, message: "", data: z.encode(endpoint.data, data), ...siblings });
}

/** Empties fields of rows that were read for this answer alone. */
function mask(rows: unknown, names: readonly string[]): void {
  if (names.length === 0 || !Array.isArray(rows)) return;
  for (const row of rows) for (const name of names) row[name] = "";
}

/** The natural key of a call that its client may repeat: unique per actor and endpoint. */
function idempotencyKeyOf(
  ctx: Context,
  http: Http,
  endpoint: Endpoint,
  actor: Actor | undefined,
): string | undefined {
  const key = http.req.header("idempotency-key")?.trim();
  return key && ctx.secrets.hash(`${actor?.id ?? 0}\n${endpoint.method} ${endpoint.path}\n${key}`);
}

/** The query by name; `page_size` is the other family name of `size` (requirements W1.5). */
function queryOf(http: Http): Record<string, string> {
  const query = http.req.query();
  return query["page_size"] === undefined ? query : { size: query["page_size"], ...query };
}

/** Plain http and https have different cookies: `__Host-` needs Secure (requirements A01). */
function sessionHandle(http: Http): SessionHandle {
  const { isHttps } = http.var.client;
  const options = { path: "/", httpOnly: true, sameSite: "Lax", secure: isHttps } as const;
  const prefix = isHttps ? "__Host-" : "";
  const name = `${prefix}session`;
  const browserName = `${prefix}browser`;
  return {
    id: getCookie(http, name),
    set: (id) => setCookie(http, name, id, { ...options, maxAge: SESSION_MAX_SEC }),
    clear: () => void deleteCookie(http, name, options),
    browserId: getCookie(http, browserName),
    note: (noteName) => getCookie(http, prefix + noteName),
    keepNote: (noteName, value, maxAge) => setCookie(http, prefix + noteName, value, { ...options, maxAge }),
    dropNote: (noteName) => void deleteCookie(http, prefix + noteName, options),
    ensureBrowserId() {
      const id = getCookie(http, browserName) ?? randomId();
      setCookie(http, browserName, id, { ...options, maxAge: BROWSER_SEC });
      return id;
    },
  };
}

function send(
  http: Http,
  body: object,
  status: 200 | 400 | 401 | 403 | 413 | 429 | 500 | 503 = 200,
): Response {
  return http.body(JSON.stringify(body), status, { "Content-Type": "application/json; charset=utf-8" });
}

/** What is answered for anything thrown: an AppError as it is, a database in trouble as 503, anything else as 500. */
function failureOf(thrown: unknown): AppError {
  const error = asAppError(thrown);
  return error.code === "internal" && isPassing(thrown) ? faults.unavailable(thrown) : error;
}

function renderFailure(http: Http, error: AppError): Response {
  if (error.retryAfterSec !== undefined) http.header("Retry-After", String(error.retryAfterSec));
  // The family's limits answer with an empty body.
  if (error.status === 429 && error.publicMessage === "") return http.body(null, 429);
  // Every constructor in errors.ts uses one of these.
  return send(
    http,
    renderEnvelope(error, http.var.language),
    error.status as 200 | 400 | 401 | 403 | 413 | 429 | 500 | 503,
  );
}

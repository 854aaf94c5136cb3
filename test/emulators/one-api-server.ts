// A server that answers as plain One API 0.6 does (requirements W1–W3, B7), in memory: pages of ten without a total, unpaged searches,
// nulls, missing `data`, redirects for the other trailing slash, and nothing that is our addition. It serves the built console too.
import { readFileSync, statSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import {
  type ChannelRow,
  channelRow,
  FIRST_SEC,
  type LogRow,
  logRow,
  optionRows,
  type RedemptionRow,
  redemptionRow,
  statusRow,
  type TokenRow,
  tokenRow,
  type UserRow,
  userRow,
} from "#test/seeds/one-api-rows.ts";
import { type Heard, type HttpEmulator, type Reply, startHttpEmulator } from "./http-emulator.ts";

const CONSOLE = join(import.meta.dirname, "../../dist/console");
/** Its ItemsPerPage. */
const PAGE = 10;
const KINDS: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

interface State {
  /** Of a development build at first: the console does not take that for another version. */
  readonly status: { version: string };
  readonly users: UserRow[];
  readonly passwords: Map<string, string>;
  readonly sessions: Map<string, number>;
  readonly tokens: TokenRow[];
  readonly channels: ChannelRow[];
  readonly redemptions: RedemptionRow[];
  readonly logs: LogRow[];
  readonly options: Map<string, string>;
}

export interface OneApiServer extends HttpEmulator {
  readonly state: State;
}

/** Fields of a body; what the console sends is what is tested, so they are read as they come. */
// biome-ignore lint/suspicious/noExplicitAny: an emulator reads any body.
type Body = any;

interface HandlerInput {
  readonly user: UserRow;
  readonly id: number;
  readonly query: URLSearchParams;
  readonly body: Body;
  readonly state: State;
}

type Level = 0 | 1 | 10 | 100;
/** `data` of the answer under that name, or fields of the envelope itself; nothing = no data at all. */
type Handler = (call: HandlerInput) => Record<string, unknown> | undefined;
interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly level: Level;
  readonly handle: Handler;
}

function route(level: Level, line: string, handle: Handler): Route {
  const [method = "", path = ""] = line.split(" ");
  return { method, level, handle, pattern: new RegExp(`^${path.replace(":id", "(\\d+)")}$`) };
}

function nowSec(): number {
  return Math.floor(Date.now() / 1000);
}

function pageOf<T>(rows: readonly T[], query: URLSearchParams): T[] {
  const page = Math.max(0, Number(query.get("p")) || 0);
  return rows.toReversed().slice(page * PAGE, (page + 1) * PAGE);
}

function found<T extends { id: number }>(rows: readonly T[], id: number): T {
  const row = rows.find((one) => one.id === id);
  if (!row) throw new Error("record not found");
  return row;
}

function drop<T extends { id: number }>(rows: T[], id: number): undefined {
  rows.splice(rows.indexOf(found(rows, id)), 1);
}

function nextId(rows: readonly { id: number }[]): number {
  return Math.max(0, ...rows.map(({ id }) => id)) + 1;
}

/** What of `body` the update of a row may change; zero values do not count (requirements W3.5, W3.6). */
function changes(body: Body, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.filter((name) => body[name] !== undefined && body[name] !== "").map((name) => [name, body[name]]),
  );
}

function prefix(keyword: string | null, ...texts: string[]): boolean {
  return texts.some((text) => text.startsWith(keyword ?? ""));
}

const publicRoutes = [
  route(0, "GET /api/status", ({ state }) => ({ data: { ...statusRow, ...state.status } })),
  route(0, "GET /api/notice", ({ state }) => ({ data: state.options.get("Notice") })),
  route(0, "GET /api/about", ({ state }) => ({ data: state.options.get("About") })),
  route(0, "GET /api/home_page_content", ({ state }) => ({ data: state.options.get("HomePageContent") })),
  route(1, "GET /api/models", () => ({
    // A type without an adaptor of its own has no list.
    data: { "1": ["gpt-3.5-turbo", "gpt-4"], "14": ["claude-2.1"], "24": null },
  })),
  route(10, "GET /api/group/", () => ({ data: ["vip", "default", "svip"] })),
];

const userRoutes = [
  route(1, "GET /api/user/self", ({ user }) => ({ data: user })),
  route(1, "PUT /api/user/self", ({ user, body }) => {
    Object.assign(user, changes(body, ["username", "display_name"]));
    return undefined;
  }),
  route(1, "GET /api/user/aff", ({ user }) => ({ data: user.aff_code })),
  route(1, "GET /api/user/token", () => ({ data: "0123456789abcdef0123456789abcdef" })),
  route(1, "GET /api/user/dashboard", () => ({ data: null })),
  route(1, "POST /api/user/topup", ({ state, user, body }) => {
    const code = state.redemptions.find(({ key }) => key === body.key);
    if (!code) throw new Error("无效的兑换码");
    if (code.status !== 1) throw new Error("该兑换码已被使用");
    Object.assign(code, { status: 3, redeemed_time: nowSec() });
    user.quota += code.quota;
    return { data: code.quota };
  }),
  route(10, "GET /api/user/", ({ state, query }) => ({ data: pageOf(state.users, query) })),
  route(10, "GET /api/user/search", ({ state, query }) => ({
    data: state.users.filter(({ username, id }) => prefix(query.get("keyword"), username, String(id))),
  })),
  route(10, "GET /api/user/:id", ({ state, id }) => ({ data: found(state.users, id) })),
  route(10, "POST /api/user/", ({ state, body }) => {
    state.users.push({ ...userRow(nextId(state.users), body.username, 1), quota: 0 });
    state.passwords.set(body.username, body.password);
    return undefined;
  }),
  route(10, "PUT /api/user/", ({ state, body }) => {
    Object.assign(found(state.users, body.id), changes(body, ["username", "display_name", "group", "quota"]));
    return undefined;
  }),
  route(10, "POST /api/user/manage", ({ state, body }) => {
    const user = state.users.find(({ username }) => username === body.username);
    if (!user) throw new Error("用户不存在");
    if (body.action === "delete") drop(state.users, user.id);
    else user.status = body.action === "disable" ? 2 : 1;
    // Only these two are filled.
    return { data: { ...userRow(0, "", user.role), status: user.status, quota: 0, group: "", aff_code: "" } };
  }),
];

const tokenRoutes = [
  route(1, "GET /api/token/", ({ state, query }) => ({ data: pageOf(state.tokens, query) })),
  route(1, "GET /api/token/search", ({ state, query }) => ({
    data: state.tokens.filter(({ name }) => prefix(query.get("keyword"), name)),
  })),
  route(1, "GET /api/token/:id", ({ state, id }) => ({ data: found(state.tokens, id) })),
  route(1, "POST /api/token/", ({ state, user, body }) => {
    const id = nextId(state.tokens);
    const fields = changes(body, ["remain_quota", "expired_time", "unlimited_quota"]);
    state.tokens.push({ ...tokenRow(id, user.id, body.name), ...fields });
    // Servers before 2024-03-24 answered nothing here.
    return undefined;
  }),
  route(1, "PUT /api/token/", ({ state, query, body }) => {
    const token = found(state.tokens, body.id);
    const names = query.get("status_only")
      ? ["status"]
      : ["name", "remain_quota", "expired_time", "unlimited_quota"];
    return { data: Object.assign(token, changes(body, names)) };
  }),
  route(1, "DELETE /api/token/:id", ({ state, id }) => drop(state.tokens, id)),
];

const channelRoutes = [
  route(10, "GET /api/channel/", ({ state, query }) => ({ data: pageOf(state.channels, query) })),
  route(10, "GET /api/channel/search", ({ state, query }) => ({
    data: state.channels.filter(({ name, id }) => prefix(query.get("keyword"), name, String(id))),
  })),
  route(10, "GET /api/channel/test", () => undefined),
  route(10, "GET /api/channel/test/:id", ({ state, id }) => {
    const channel = found(state.channels, id);
    if (channel.status !== 1) return { success: false, message: "invalid api key", time: 0.05 };
    Object.assign(channel, { test_time: nowSec(), response_time: 1230 });
    return { time: 1.23 };
  }),
  route(10, "GET /api/channel/update_balance/:id", ({ state, id }) => {
    Object.assign(found(state.channels, id), { balance: 12.5, balance_updated_time: nowSec() });
    return { balance: 12.5 };
  }),
  route(10, "GET /api/channel/:id", ({ state, id }) => ({ data: found(state.channels, id) })),
  route(10, "POST /api/channel/", ({ state, body }) => {
    for (const key of String(body.key).split("\n")) {
      if (key.trim() === "") continue;
      state.channels.push({ ...channelRow(nextId(state.channels), body.name), ...body, key: "" });
    }
    return undefined;
  }),
  route(10, "PUT /api/channel/", ({ state, body }) => {
    const { key: _key, ...fields } = body;
    return { data: Object.assign(found(state.channels, body.id), fields) };
  }),
  route(10, "DELETE /api/channel/disabled", ({ state }) => {
    const gone = state.channels.filter(({ status }) => status !== 1);
    for (const { id } of gone) drop(state.channels, id);
    return { data: gone.length };
  }),
  route(10, "DELETE /api/channel/:id", ({ state, id }) => drop(state.channels, id)),
];

const redemptionRoutes = [
  route(10, "GET /api/redemption/", ({ state, query }) => ({ data: pageOf(state.redemptions, query) })),
  route(10, "GET /api/redemption/search", ({ state, query }) => ({
    data: state.redemptions.filter(({ name, id }) => prefix(query.get("keyword"), name, String(id))),
  })),
  route(10, "GET /api/redemption/:id", ({ state, id }) => ({ data: found(state.redemptions, id) })),
  route(10, "POST /api/redemption/", ({ state, body }) => {
    const made = Array.from({ length: body.count }, () => {
      const row = { ...redemptionRow(nextId(state.redemptions), body.name), quota: body.quota };
      state.redemptions.push(row);
      return row.key;
    });
    return { data: made };
  }),
  route(10, "PUT /api/redemption/", ({ state, query, body }) => {
    const names = query.get("status_only") ? ["status"] : ["name", "quota"];
    return { data: Object.assign(found(state.redemptions, body.id), changes(body, names)) };
  }),
  route(10, "DELETE /api/redemption/:id", ({ state, id }) => drop(state.redemptions, id)),
];

/** Own entries come without their number and with the channel (requirements W3.9). */
function ownLogs(state: State, user: UserRow): LogRow[] {
  return state.logs.filter(({ user_id }) => user_id === user.id).map((row) => ({ ...row, id: 0 }));
}

function matching(rows: readonly LogRow[], query: URLSearchParams): LogRow[] {
  const type = Number(query.get("type"));
  const model = query.get("model_name") ?? "";
  return rows.filter(
    (row) => (type === 0 || row.type === type) && (model === "" || row.model_name === model),
  );
}

function sumOf(rows: readonly LogRow[]): { quota: number } {
  return { quota: rows.reduce((sum, { quota }) => sum + quota, 0) };
}

const logRoutes = [
  route(10, "GET /api/log/", ({ state, query }) => ({ data: pageOf(matching(state.logs, query), query) })),
  route(1, "GET /api/log/self", ({ state, user, query }) => ({
    data: pageOf(matching(ownLogs(state, user), query), query),
  })),
  route(10, "GET /api/log/stat", ({ state, query }) => ({ data: sumOf(matching(state.logs, query)) })),
  route(1, "GET /api/log/self/stat", ({ state, user, query }) => ({
    data: sumOf(matching(ownLogs(state, user), query)),
  })),
  route(10, "DELETE /api/log/", ({ state }) => ({ data: state.logs.splice(0).length })),
  route(100, "GET /api/option/", ({ state }) => ({
    data: [...state.options].map(([key, value]) => ({ key, value })),
  })),
  route(100, "PUT /api/option/", ({ state, body }) => {
    if (typeof body.value !== "string") throw new Error("无效的参数");
    state.options.set(body.key, body.value);
    return undefined;
  }),
];

const routes: readonly Route[] = [
  ...publicRoutes,
  ...userRoutes,
  ...tokenRoutes,
  ...channelRoutes,
  ...redemptionRoutes,
  ...logRoutes,
];

function logIn(state: State, body: Body): Reply {
  const user = state.users.find(({ username }) => username === body.username);
  if (!user || state.passwords.get(user.username) !== body.password)
    return { json: { success: false, message: "用户名或密码错误，或用户已被封禁" } };
  const session = `s${state.sessions.size}`;
  state.sessions.set(session, user.id);
  // Only these five are filled; the others have their zero values.
  const { id, username, display_name, role, status } = user;
  const zero = { ...userRow(id, username, role), quota: 0, group: "", aff_code: "" };
  return {
    json: { success: true, message: "", data: { ...zero, display_name, status } },
    headers: { "set-cookie": `session=${session}; Path=/; Max-Age=2592000` },
  };
}

function userOf(state: State, heard: Heard): UserRow | undefined {
  const session = /session=(\w+)/.exec(heard.headers.cookie ?? "")?.[1] ?? "";
  return state.users.find(({ id }) => id === state.sessions.get(session));
}

/** The same path with the other trailing slash, or nowhere. */
function elsewhere({ method, path, search }: Heard): Reply {
  const other = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
  if (routes.some((one) => one.method === method && one.pattern.test(other))) {
    const headers = { location: `${other}${search}` };
    return { status: method === "GET" ? 301 : 307, json: null, headers };
  }
  const message = `Invalid URL (${method} ${path})`;
  return { status: 404, json: { error: { message, type: "invalid_request_error", param: "", code: "" } } };
}

function refusal(level: Level, role: number): Reply | undefined {
  if (level > 0 && role === 0)
    return { status: 401, json: { success: false, message: "无权进行此操作，未登录且未提供 access token" } };
  return role < level ? { json: { success: false, message: "无权进行此操作，权限不足" } } : undefined;
}

function answerApi(state: State, heard: Heard): Reply {
  const { method, path, query } = heard;
  const body = heard.body === "" ? {} : JSON.parse(heard.body);
  if (path === "/api/user/login") return logIn(state, body);
  if (path === "/api/user/logout") {
    state.sessions.clear();
    return { json: { success: true, message: "" } };
  }
  const known = routes.find((one) => one.method === method && one.pattern.test(path));
  if (!known) return elsewhere(heard);
  const user = userOf(state, heard) ?? userRow(0, "", 0);
  const refused = refusal(known.level, user.role);
  if (refused) return refused;
  try {
    const id = Number(known.pattern.exec(path)?.[1] ?? 0);
    return { json: { success: true, message: "", ...known.handle({ user, id, query, body, state }) } };
  } catch (error) {
    return { json: { success: false, message: error instanceof Error ? error.message : "" } };
  }
}

/** The console as One API serves it: files by name, index.html for every other path, no further headers. */
function answerFile(path: string): Reply {
  const wanted = join(CONSOLE, normalize(path));
  const isFile = statSync(wanted, { throwIfNoEntry: false })?.isFile() === true;
  const file = isFile ? wanted : join(CONSOLE, "index.html");
  return { body: readFileSync(file), headers: { "content-type": KINDS[extname(file)] ?? "text/plain" } };
}

/** Starts it with root (123456), lihua (river-stone-42), twelve tokens, one channel full of nulls, and twelve log entries. */
export async function startOneApi(): Promise<OneApiServer> {
  const root = userRow(1, "root", 100);
  const lihua = userRow(2, "lihua", 1);
  const twelve = Array.from({ length: 12 }, (_, index) => index + 1);
  const state: State = {
    status: { version: "v0.0.0" },
    users: [root, lihua],
    passwords: new Map([
      ["root", "123456"],
      ["lihua", "river-stone-42"],
    ]),
    sessions: new Map(),
    tokens: twelve.map((id) => tokenRow(id, 1, `令牌${id}`)),
    channels: [channelRow(1, "老渠道")],
    redemptions: [],
    logs: twelve.map((id) => ({ ...logRow(id, id % 2 === 0 ? root : lihua), created_at: FIRST_SEC + id })),
    options: new Map(Object.entries(optionRows)),
  };
  const server = await startHttpEmulator((heard) =>
    heard.path.startsWith("/api/") || heard.path.startsWith("/v1/")
      ? answerApi(state, heard)
      : answerFile(heard.path),
  );
  return { ...server, state };
}

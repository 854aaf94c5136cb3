// The checks before a call is decoded: where it comes from, how often, how large. No resource knowledge.
import { authApi } from "#contract/auth.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";

const BODY_BYTES = 1024 * 1024;
const ANONYMOUS_BODY_BYTES = 64 * 1024;

/** Whether a call changes something, so that other sites must not be able to cause it. */
export function changesState(endpoint: Endpoint): boolean {
  return endpoint.method !== "GET" || endpoint.mutates === true;
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** What is known of the browser's call. */
interface Visit {
  /** The host that was asked for. */
  readonly host: string;
  /** ServerAddress; "" = none. */
  readonly site: string;
  readonly hasSession: boolean;
}

/**
 * Refuses calls that another site made a browser send (requirements Q2, A18, Z09). Only an Authorization header that signs
 * the call in by itself is no browser's ambient authority: beside a session cookie, or where no sign-in is needed, a browser
 * may have added it for a proxy that asks for a password. A page of ServerAddress is ours, also where a proxy does not pass on the host
 * that it was asked for. Throws: 403.
 */
export function refuseCrossSite(
  endpoint: Endpoint,
  headers: Headers,
  { host, site: ownSite, hasSession }: Visit,
): void {
  if (!changesState(endpoint)) return;
  if (headers.has("authorization") && !hasSession && endpoint.level !== "public") return;
  const site = headers.get("sec-fetch-site");
  if (site !== null) {
    if (site !== "same-origin") throw faults.crossSite(`sec-fetch-site: ${site}`);
    if (headers.get("sec-fetch-mode") === "navigate") throw faults.crossSite("navigation");
    // Our scripts fetch; an image or a frame comes from text of a user, e.g. a notice.
    const dest = headers.get("sec-fetch-dest") ?? "empty";
    if (dest !== "empty") throw faults.crossSite(`sec-fetch-dest: ${dest}`);
    return;
  }
  const source = headers.get("origin") ?? headers.get("referer");
  if (source === null) refuseSilentBrowser(headers, hasSession);
  else if (!isOurs(source, { host, site: ownSite }) && !isKeyed(endpoint, headers))
    throw faults.crossSite("origin or referer of another host");
}

/** Whether it does not matter which page sends a call: before there is a ServerAddress no other page is known to be ours behind a proxy. */
function isKeyed({ keyed }: Endpoint, headers: Headers): boolean {
  return keyed === true && /^https?:/.test(headers.get("origin") ?? "");
}

function isOurs(source: string, { host, site }: Pick<Visit, "host" | "site">): boolean {
  return hostOf(source) === host || (site !== "" && originOf(source) === originOf(site));
}

/**
 * A browser may not say where a call comes from: over plain http it sends no Sec-Fetch headers, and the page decides
 * about the Referer. Its Accept header shows it: a page, and with a session anything that programs do not ask for; and
 * it names its user's languages (Node's fetch says `*`). Throws: 403.
 */
function refuseSilentBrowser(headers: Headers, hasSession: boolean): void {
  const accept = headers.get("accept") ?? "*/*";
  if (accept.includes("text/html")) throw faults.crossSite("navigation");
  if (!hasSession) return;
  const isProgram = accept === "*/*" || accept.includes("application/json");
  if (!isProgram || (headers.get("accept-language") ?? "*") !== "*")
    throw faults.crossSite("a browser that does not say where the call comes from");
}

/** A closed registration is refused before the call is read (requirements W3.3: the order of checks). Throws: AppError. */
export function refuseClosed({ options }: Pick<Context, "options">, endpoint: Endpoint): void {
  if (endpoint !== authApi.register) return;
  if (!options.get("RegisterEnabled")) throw faults.refused("当前未开放注册");
  if (!options.get("PasswordRegisterEnabled")) throw faults.refused("当前仅支持第三方账号注册");
}

/**
 * Reads a body of at most 1 MiB, or as many bytes as its endpoint takes, 64 KiB from callers who are not signed in, and stops reading
 * there (requirements D01).
 * Throws: 413.
 */
export async function readBody(
  request: Request,
  isSignedIn: boolean,
  mostBytes = BODY_BYTES,
): Promise<string> {
  const limit = isSignedIn ? mostBytes : ANONYMOUS_BODY_BYTES;
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw faults.bodyTooLarge();
  if (!request.body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > limit) throw faults.bodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Throws: AppError for decoded input with a NUL in a text, which PostgreSQL cannot store. */
export function refuseNul(value: unknown): void {
  if (typeof value === "string" && value.includes("\0")) throw faults.invalid(undefined, "NUL in a text");
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    refuseNul(name);
    refuseNul(inner);
  }
}

// Cache of credentials that are made from a key and expire: exchanged at a provider or signed here. One exchange per key for all waiting
// calls, refreshed before its end, bounded. It belongs to this process: losing it costs one exchange.
import type { Egress } from "#server/egress/dispatcher.ts";
import { fetchJson, type JsonResult } from "#server/egress/fetch-json.ts";
import type { Route } from "#server/egress/send.ts";
import { hideSecret } from "#server/log/texts.ts";
import { sha256Hex } from "#server/secrets.ts";
import {
  networkFault,
  type RelayFault,
  statusFault,
  unreadableFault,
} from "#server/upstream/errors/fault.ts";

/** A credential that expires. */
export interface Token {
  readonly text: string;
  /** Remaining lifetime; unit: ms. */
  readonly lifetimeMs: number;
}

/** How a token is obtained. */
export interface TokenSource {
  /** Kind and key (and address, where it matters); only its hash is kept. */
  readonly id: string;
  /** A token is renewed when less than this is left of it, at most half of its lifetime. Unit: ms. */
  readonly aheadMs: number;
}

export interface ExchangedSource extends TokenSource {
  /** Where the small call leaves. */
  readonly route?: Route | undefined;
  /** Builds the small call that returns the token; used only for an exchange. A fault = it cannot be built. */
  request(): ExchangeRequest | RelayFault;
}

export interface ExchangeRequest {
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string;
  /** Strings that must not reach a log when the provider echoes them. */
  readonly secrets: readonly string[];
}

export interface MadeSource extends TokenSource {
  make(nowMs: number): Token;
}

export interface TokenCache {
  /**
   * An access token of an OAuth provider (`access_token`, `expires_in` in seconds). One exchange at a time per key; a token near its end is
   * renewed in the background. A refusal is a fault that blames the credential, a network failure the channel.
   */
  exchanged(source: ExchangedSource): string | Promise<string | RelayFault>;
  /** A token that is made here. */
  made(source: MadeSource): string;
  /** A provider refused this token: it is not used again. */
  forget(token: string): void;
}

export interface TokenCacheParts {
  readonly egress: Pick<Egress, "send">;
  /** Unit: ms since 1970. */
  readonly now: () => number;
}

interface Entry {
  token: string;
  /** Unit: ms since 1970; 0 = no token. */
  expiresAtMs: number;
  renewAtMs: number;
  /** The running exchange, shared by all waiting calls. */
  pending: Promise<string | RelayFault> | undefined;
  /** The last refusal: for a moment it is reused, so that a bad key does not flood the provider. */
  refusal: RelayFault | undefined;
  refusedAtMs: number;
}

/** Source: requirements T2.6. */
const EXCHANGE_TIMEOUT_MS = 10_000;
const MAX_ENTRIES = 1_000;
/** Pause after a failed renewal, while the old token is still valid. */
const RENEW_AGAIN_MS = 30_000;
const REFUSAL_MS = 2_000;
/** The status of every refusal. */
const REFUSED = 401;
/** The assumed lifetime if the provider sends none. */
const UNTOLD_LIFETIME_SEC = 600;

/** Builds the cache of one process. */
export function createTokenCache(parts: TokenCacheParts): TokenCache {
  return new Tokens(parts);
}

class Tokens implements TokenCache {
  readonly #entries = new Map<string, Entry>();
  readonly #parts: TokenCacheParts;

  constructor(parts: TokenCacheParts) {
    this.#parts = parts;
  }

  exchanged(source: ExchangedSource): string | Promise<string | RelayFault> {
    const nowMs = this.#parts.now();
    const entry = this.#entry(source.id);
    if (nowMs < entry.expiresAtMs) {
      if (nowMs >= entry.renewAtMs && entry.pending === undefined) void this.#exchange(entry, source);
      return entry.token;
    }
    if (entry.refusal !== undefined && isSoonAfter(nowMs, entry.refusedAtMs))
      return Promise.resolve(entry.refusal);
    return entry.pending ?? this.#exchange(entry, source);
  }

  made(source: MadeSource): string {
    const nowMs = this.#parts.now();
    const entry = this.#entry(source.id);
    if (nowMs >= entry.renewAtMs || nowMs >= entry.expiresAtMs)
      store(entry, source.make(nowMs), source, nowMs);
    return entry.token;
  }

  forget(token: string): void {
    for (const entry of this.#entries.values()) {
      if (entry.token === token) entry.expiresAtMs = 0;
    }
  }

  #entry(id: string): Entry {
    const hash = sha256Hex(id);
    const known = this.#entries.get(hash);
    if (known !== undefined) return known;
    if (this.#entries.size >= MAX_ENTRIES) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    const entry: Entry = {
      token: "",
      expiresAtMs: 0,
      renewAtMs: 0,
      pending: undefined,
      refusal: undefined,
      refusedAtMs: 0,
    };
    this.#entries.set(hash, entry);
    return entry;
  }

  #exchange(entry: Entry, source: ExchangedSource): Promise<string | RelayFault> {
    const pending = this.#ask(entry, source);
    entry.pending = pending;
    return pending;
  }

  async #ask(entry: Entry, source: ExchangedSource): Promise<string | RelayFault> {
    const { egress, now } = this.#parts;
    const result = await exchange(egress, source);
    entry.pending = undefined;
    const nowMs = now();
    if ("kind" in result) {
      entry.renewAtMs = nowMs + RENEW_AGAIN_MS;
      const isRefused = result.upstreamStatus === REFUSED;
      entry.refusal = isRefused ? result : undefined;
      entry.refusedAtMs = nowMs;
      return result;
    }
    store(entry, result, source, nowMs);
    return entry.token;
  }
}

/** A time in the future: the clock was set back meanwhile, so it is ignored. */
function isSoonAfter(nowMs: number, refusedAtMs: number): boolean {
  return nowMs >= refusedAtMs && nowMs < refusedAtMs + REFUSAL_MS;
}

function store(entry: Entry, token: Token, { aheadMs }: TokenSource, nowMs: number): void {
  hideSecret(token.text, true);
  entry.token = token.text;
  entry.expiresAtMs = nowMs + token.lifetimeMs;
  entry.renewAtMs = entry.expiresAtMs - Math.min(aheadMs, token.lifetimeMs / 2);
  entry.refusal = undefined;
}

async function exchange(egress: Pick<Egress, "send">, source: ExchangedSource): Promise<Token | RelayFault> {
  const request = source.request();
  if ("kind" in request) return request;
  const { secrets, ...call } = request;
  const answer = await fetchJson(egress, {
    ...call,
    method: "POST",
    timeoutMs: EXCHANGE_TIMEOUT_MS,
    route: source.route,
  });
  return tokenIn(answer, secrets);
}

function tokenIn(answer: JsonResult, secrets: readonly string[]): Token | RelayFault {
  if (answer.kind === "fault") return withDetail(networkFault(answer), "token exchange");
  const { status } = answer;
  // Any JSON object may be read by name; the values are checked.
  const body = (typeof answer.body === "object" && answer.body !== null ? answer.body : {}) as Record<
    string,
    unknown
  >;
  const { access_token: text, expires_in: lifetime, error } = body;
  const isRefused =
    (status >= 400 && status < 500 && status !== 408 && status !== 429) || typeof error === "string";
  if (isRefused || status !== 200) {
    const upstream = {
      status: isRefused ? REFUSED : status,
      body: answer.body,
      text: "",
      retryAfterMs: 0,
      secrets,
    };
    return withDetail(statusFault(upstream), `token exchange, status ${status}`);
  }
  if (typeof text !== "string" || !/^[\x21-\x7e]{1,8192}$/.test(text)) {
    return unreadableFault("token exchange: no access_token in the answer", status);
  }
  const seconds = Number(lifetime);
  const isTold = Number.isFinite(seconds) && seconds > 0;
  return { text, lifetimeMs: (isTold ? seconds : UNTOLD_LIFETIME_SEC) * 1_000 };
}

function withDetail(fault: RelayFault, about: string): RelayFault {
  return { ...fault, detail: `${about}: ${fault.detail}` };
}

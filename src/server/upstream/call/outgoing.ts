// Makes every request to a channel ready to be sent, beside the calls of `attempt.ts`: sockets, tasks, files, kept responses, lists of models,
// balances. The channel's rules and its credential are put on here, so that no path leaves either out.
import { folded, segmentsOf } from "#contract/rewrite-law.ts";
import { type RelayFault, statusFault, type UpstreamError } from "#server/upstream/errors/fault.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { type CallSigner, isFault, type Signed, secretsOf } from "#server/upstream/signers/signer.ts";
import type { TokenCache } from "#server/upstream/signers/token-cache.ts";
import type { Plan, Reach, Ruled, Subject, Unruled, UpstreamTarget } from "./call.ts";
import { Body, putBack, removePlaces } from "./rewrite-body.ts";

export interface OutgoingTools {
  readonly credentials: TokenCache;
  /** Unit: ms since 1970. */
  readonly now: () => number;
}

/** What a request is about, for the conditions and the templates of rules. */
export interface About extends Omit<Subject, "target"> {
  readonly reach: Exclude<Reach, "session">;
}

/** A request without rules. */
export interface Draft {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: string;
  /** All of them, names and values in turn; with the credential unless `signer` makes it. */
  readonly headers: readonly string[];
  /** JSON, for rules that reach it. */
  readonly body?: Uint8Array | undefined;
  /** Pointers to what in the body decides the price: no rule changes it, adds it or takes it out. */
  readonly fixed?: readonly string[] | undefined;
  readonly signer?: CallSigner | undefined;
}

/** A request as it is sent. */
export interface Outgoing {
  readonly kind: "outgoing";
  readonly url: string;
  readonly headers: readonly string[];
  readonly body: Uint8Array | undefined;
  /** The key, and strings made of it, that no caller may read. */
  readonly secrets: readonly string[];
}

const NOTHING = new Uint8Array(0);
const UNSIGNED: Signed = { headers: [] };

/** Makes a request ready to be sent. A fault = it cannot be signed, or a rule refuses it. Never throws. */
export async function outgoing(
  tools: OutgoingTools,
  target: UpstreamTarget,
  draft: Draft,
  about: About,
): Promise<Outgoing | RelayFault> {
  const asked = target.rewrite?.apply({ ...about, target }, unruledDraft(draft, about));
  if (asked?.kind === "fault") return asked;
  const { url, headers, body } = ruledDraft(draft, asked);
  const { key, other, route } = target;
  const method = draft.method === "POST" ? "POST" : "GET";
  const order = { method, url, body: body ?? NOTHING, nowMs: tools.now(), other } as const;
  const signed = draft.signer?.sign(key, order, { tokens: tools.credentials, route }) ?? UNSIGNED;
  const made = signed instanceof Promise ? await signed : signed;
  if (isFault(made)) return made;
  return {
    kind: "outgoing",
    url: made.url ?? url,
    headers: headers(made.headers),
    body,
    secrets: [...secretsOf(key), ...(made.secrets ?? [])],
  };
}

/** A request without a body that a plan says all of. */
export function planDraft({ url, headers, signer }: Pick<Plan, "url" | "headers" | "signer">): Draft {
  return { method: "GET", url, headers, signer };
}

/** What rules may ask of a call about a channel's account: it is the gateway's own, and about no model. */
export function aboutAccount(endpoint: "models" | "balance", nowMs: number): About {
  const facts = { header: () => undefined, attempt: 1, userId: 0, maxTokens: undefined, nowMs };
  return { reach: "control", endpoint, model: "", originModel: "", isStream: false, seed: "", facts };
}

/** A draft as rules get it. */
export function unruledDraft({ body }: Draft, { reach, endpoint }: About): Unruled {
  return { reach, body: reach === "request" ? body : undefined, format: endpoint };
}

/** A draft as rules leave it; what is put on it to sign it comes before rules on headers. */
export function ruledDraft(
  { url, headers, body, fixed }: Draft,
  ruled: Ruled | undefined,
): {
  readonly url: string;
  readonly headers: (signed: readonly string[]) => readonly string[];
  readonly body: Uint8Array | undefined;
} {
  const changed = ruled?.body ?? body;
  return {
    url,
    body: body === undefined || changed === body ? body : restored(body, changed ?? body, fixed ?? []),
    headers(signed) {
      const all = [...headers, ...signed];
      return ruled?.rehead?.(all) ?? all;
    },
  };
}

/** With what decides the price as it was. */
function restored(before: Uint8Array, after: Uint8Array, fixed: readonly string[]): Uint8Array {
  const [was, is] = [Body.of(before), Body.of(after)];
  if (was === undefined || is === undefined) return after;
  for (const segments of fixed.map((pointer) => segmentsOf(pointer) ?? [])) {
    for (const [at] of segments.entries()) dropTwins(was, is, segments.slice(0, at + 1));
    const value = was.read(segments);
    const [top = ""] = segments;
    if (isSame(value, is.read(segments))) continue;
    if (value === undefined) removePlaces(is, is.places(segments, false));
    else putBack(is, segments, value, was.get(top));
  }
  return is.bytes();
}

/** A lenient server reads a name in another case as the name: what a rule has put beside is taken out. */
function dropTwins(was: Body, is: Body, segments: readonly string[]): void {
  const [parents, name = ""] = [segments.slice(0, -1), segments.at(-1)];
  const names = parents.length === 0 ? is.names() : Object.keys(asObject(is.read(parents)) ?? {});
  for (const other of names) {
    const place = [...parents, other];
    const isTwin = other !== name && folded(other) === folded(name) && was.read(place) === undefined;
    if (isTwin) removePlaces(is, is.places(place, false));
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The fault of an upstream's answer, with the status that the channel's table has for the client (requirements C38). */
export function answerFault({ rewrite }: UpstreamTarget, error: UpstreamError): RelayFault {
  const fault = statusFault(error);
  const status = rewrite?.statusFor(fault.upstreamStatus);
  return status === undefined ? fault : { ...fault, status };
}

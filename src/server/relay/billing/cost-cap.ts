// The limit of what one call may cost: a call that could cost more is refused, or may put out less (requirements L09). Pure.
import { isModelOf } from "#contract/limit-words.ts";
import { amountAt } from "#server/money/limit-state.ts";
import { estimate, type Price } from "#server/money/price.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { LocalError } from "#server/relay/http/local-errors.ts";
import { TEXT_ENDPOINTS } from "#server/relay/text/endpoints.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import type { LimitRow } from "#server/store/limits.ts";
import { type ClientBody, valuesOf } from "#server/upstream/call/body.ts";
import { editObject, findMember, wholeObject } from "#server/upstream/json/object.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { estimatePrompt } from "./pricing-text.ts";

export interface CostCap {
  readonly row: LimitRow;
  /** Unit: quota. */
  readonly amount: bigint;
}

/** The tightest limit of a call's cost; undefined = there is none. */
export function costCapOf(
  { limits }: Pick<Caller, "limits">,
  model: string,
  nowSec: number,
): CostCap | undefined {
  let found: CostCap | undefined;
  for (const row of limits) {
    if (row.kind !== "cost" || !isModelOf(row.model_pattern, model)) continue;
    const amount = amountAt(row, nowSec);
    if (found === undefined || amount < found.amount) found = { row, amount };
  }
  return found;
}

/** More tokens than any answer has. */
const MOST_TOKENS = 131_072;

/**
 * The request as it may be sent under a limit of its cost: itself, or where the limit says so with less output. Throws: LocalError when it
 * could cost more.
 */
export function fitCost(
  { row, amount }: CostCap,
  incoming: IncomingRequest,
  { price, first }: { price: Price; first: bigint },
): IncomingRequest {
  const { maxTokens, choices } = incoming;
  const prompt = estimatePrompt(incoming);
  const costOf = (tokens: number) => estimate(prompt, tokens, price, 0);
  const asked = maxTokens === undefined || maxTokens === 0 ? undefined : maxTokens * choices;
  const worst = asked === undefined ? first : larger(first, costOf(asked));
  const canClamp =
    row.mode === "clamp" &&
    TEXT_ENDPOINTS[incoming.endpoint]?.isInputOnly !== true &&
    incoming.form === undefined;
  if (!canClamp) {
    if (worst > amount) throw new LocalError(limitErrors.tooDear(row));
    return incoming;
  }
  const room = Math.floor(largestWithin(costOf, amount) / choices);
  if (room < 1) throw new LocalError(limitErrors.tooDear(row));
  if ((asked !== undefined && asked <= room * choices) || room * choices >= MOST_TOKENS) return incoming;
  return { ...incoming, maxTokens: room, raisedTokens: undefined, body: lowered(incoming, room) };
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The most tokens that cost no more than this; -1 = even none do. */
function largestWithin(costOf: (tokens: number) => bigint, amount: bigint): number {
  let [low, high] = [-1, MOST_TOKENS];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (costOf(middle) <= amount) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** OpenAI's models that take only the newer name. */
const NEWER = /^(o\d|gpt-5)/;

/** The body with a limit of output of so many tokens. */
function lowered(incoming: IncomingRequest, tokens: number): ClientBody {
  const { body } = incoming;
  const set = new Map(incoming.endpoint === "generate" ? geminiCap(body, tokens) : capsOf(incoming, tokens));
  const bytes = Buffer.from(editObject(body.bytes, body.object, { set }));
  const object = wholeObject(bytes);
  if (object === undefined) throw new Error("an edited body is an object no more");
  return { bytes, object, model: body.model };
}

type Member = readonly [name: string, json: string];

function geminiCap(body: ClientBody, tokens: number): readonly Member[] {
  const name = findMember(body.object, "generation_config") ? "generation_config" : "generationConfig";
  const config = asObject(valuesOf(body)[name]) ?? {};
  const own = "max_output_tokens" in config ? "max_output_tokens" : "maxOutputTokens";
  return [[name, JSON.stringify({ ...config, [own]: tokens })]];
}

function capsOf({ endpoint, body, model }: IncomingRequest, tokens: number): readonly Member[] {
  if (endpoint === "responses") return [["max_output_tokens", String(tokens)]];
  const names = ["max_tokens", "max_completion_tokens"].filter((name) => findMember(body.object, name));
  const fallback = endpoint === "chat" && NEWER.test(model) ? "max_completion_tokens" : "max_tokens";
  return (names.length > 0 ? names : [fallback]).map((name) => [name, String(tokens)] as const);
}

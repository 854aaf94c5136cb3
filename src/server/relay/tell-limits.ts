// Answers tell what is left of the limits of their caller (requirements L13), also those that no call is counted for. What is not known by
// then is looked at; who has no limits costs nothing.
import { type Caller, isLimited } from "./admission/admit.ts";
import type { ClientResponse } from "./http/client-response.ts";
import type { RelayRequest } from "./http/exchange.ts";
import { LimitHead } from "./http/limit-head.ts";
import { type Asked, addressOf, offersOf } from "./http/routes.ts";
import type { RequestState } from "./routing/failover.ts";
import type { Services } from "./services.ts";

function beginHead({ ctx }: Pick<Services, "ctx">, response: ClientResponse): LimitHead {
  const head = new LimitHead(ctx.clock);
  response.limitHead = head;
  return head;
}

/**
 * Counts a call that begins in the limits that the options set. From now on its answer tells of the limits of its caller, as far as they
 * become known. Throws: LocalError 429.
 */
export async function beginLimited(
  services: Services,
  state: RequestState,
  response: ClientResponse,
  caller: Caller,
): Promise<void> {
  state.limitHead = beginHead(services, response);
  const { limits } = services;
  if (!limits.isOff) state.freeSlot = await limits.begin(caller, state.address, state.limitHead);
}

interface Looked {
  readonly caller: Caller;
  /** "" = none is asked for: only limits for all models bind it. */
  readonly model: string;
}

/** Looks at what is not known yet. Never throws: what cannot be read is not told. */
export async function fillHead(
  { ctx, limits }: Pick<Services, "ctx" | "limits">,
  head: LimitHead,
  looked: Looked,
): Promise<void> {
  try {
    const byOptions = head.byOptions.length === 0 ? limits.rates(looked.caller) : [];
    const { lookAtLimits } = await import("./admission/limit-looks.ts");
    await lookAtLimits(ctx, head, { ...looked, byOptions });
  } catch (error) {
    ctx.events.backgroundFailed({ task: "limit-head", error });
  }
}

/** The same for a call that ended before it had passed all of its limits. */
export async function fillRest(services: Services, state: RequestState, model: string): Promise<void> {
  const { limitHead, caller } = state;
  if (limitHead === undefined || caller === undefined || limitHead.isFull) return;
  await fillHead(services, limitHead, { caller, model });
}

interface KnownCall {
  readonly services: Services;
  readonly req: RelayRequest;
  readonly response: ClientResponse;
  readonly asked: Asked;
}

/** Headers of the answer to an upgrade, as lines; they tell what is left before anything is counted. Never throws. */
export async function upgradeHeaders(services: Services, looked: Looked): Promise<readonly string[]> {
  if (!isLimited(looked.caller, services.limits)) return [];
  const head = new LimitHead(services.ctx.clock);
  await fillHead(services, head, looked);
  const values = head.headers("openai");
  return values.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${values[at + 1] ?? ""}`] : []));
}

/**
 * Who asks about what is his, in no call to a channel: `identify` lets in who has used up his key too. The answer speaks his language, and
 * tells what is left of his limits. Throws: LocalError.
 */
export async function knownCaller(
  { services, req, response, asked }: KnownCall,
  how: "identify" | "authenticate" = "identify",
): Promise<Caller> {
  const { authenticator, ctx } = services;
  const address = addressOf(req, ctx.config.trustedProxies);
  const caller = await authenticator[how](offersOf(req, asked.key), address);
  response.language = caller.language;
  if (isLimited(caller, services.limits))
    await fillHead(services, beginHead(services, response), { caller, model: "" });
  return caller;
}

// A call from its limits to the channel that answers: in its one group, or in the groups of its token until one answers.
import type { LiveChannel } from "#server/channels/live-channel.ts";
import type { LimitRefusal, PlanRefusal, ReserveVerdict } from "#server/money/operations.ts";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Caller } from "./admission/admit.ts";
import { windowFault } from "./admission/call-limits.ts";
import { Account, priceOf } from "./billing/account.ts";
import { pricingOf, raisedBy } from "./billing/pricing-text.ts";
import type { ClientResponse } from "./http/client-response.ts";
import { LocalError, localErrors } from "./http/local-errors.ts";
import { endAdmission, limitedAccount, passLimits } from "./pass-limits.ts";
import { type Admitted, failOver, type RequestState } from "./routing/failover.ts";
import { inEachGroup, membersOf } from "./routing/groups.ts";
import { findCandidates } from "./routing/next-channel.ts";
import type { Services } from "./services.ts";
import type { IncomingRequest } from "./text/incoming.ts";

interface Asked extends Pick<Admitted, "caller" | "incoming" | "mayMoveOn"> {
  /** The same caller in the groups that come after this one; absent = none. */
  readonly later?: readonly Caller[];
}
type Reply = WholeReply | StreamReply;

/** Serves a call in the one group of its caller, or in the groups of its token. Throws: LocalError. */
export async function serve(
  services: Services,
  state: RequestState,
  response: ClientResponse,
  asked: Asked,
): Promise<Reply> {
  if (asked.caller.fallbacks.length > 0) return serveInGroups(services, state, response, asked);
  if (asked.caller.limits.length > 0) await passLimits(services, state, asked);
  return reserveAndCall(services, state, response, asked);
}

/**
 * Serves a call in the first of its groups that can. What was set aside in a group is given back before the next one is tried, and set
 * aside again in its limits, by the dearest price of the groups that are left: nothing is ever called for more than is reserved
 * (requirements K15). The call's place among running calls stays its own. Throws: LocalError.
 */
function serveInGroups(
  services: Services,
  state: RequestState,
  response: ClientResponse,
  { caller, incoming }: Asked,
): Promise<Reply> {
  let passed: Caller["limits"] | undefined;
  const members = membersOf(caller);
  return inEachGroup(state, caller, incoming.model, {
    async serve(member, mayMoveOn) {
      state.caller = member;
      state.incoming = incoming;
      const { limits } = member;
      if (passed === undefined || !isSame(passed, limits)) {
        endAdmission(state);
        passed = undefined;
        state.limitHead?.forget();
        if (limits.length > 0) await passLimits(services, state, { caller: member, incoming });
        passed = limits;
      }
      const later = members.slice(members.indexOf(member) + 1);
      return reserveAndCall(services, state, response, { caller: member, incoming, mayMoveOn, later });
    },
    async leave() {
      if (state.account === undefined) return;
      await services.bill.ledger.release(state.requestId);
      state.account = undefined;
    },
  });
}

function isSame(one: Caller["limits"], other: Caller["limits"]): boolean {
  return one.length === other.length && one.every(({ id }, at) => id === other[at]?.id);
}

/** Sets aside what the call may cost and calls the channels of its group. */
async function reserveAndCall(
  services: Services,
  state: RequestState,
  response: ClientResponse,
  { caller, incoming: asked, mayMoveOn, later = [] }: Asked,
): Promise<Reply> {
  const found = asked.pinned === undefined ? findCandidates(services.ctx, caller, asked) : [asked.pinned];
  const candidates = found instanceof Promise ? await found : found;
  const raised = raisedBy(candidates, asked);
  const account = accountOf(services, state, { caller, incoming: raised, candidates });
  // A limit of its cost may have lowered what it puts out.
  const { incoming } = account;
  const dearer = later.map((one) => ({
    group: one.group,
    price: priceOf(services.bill, incoming, one, candidates),
  }));
  const verdict = await account.open(dearer);
  if (verdict !== "reserved") throw new LocalError(await refusalOf(services, state, verdict));
  state.account = account;
  // All its groups together have the time of one call.
  if (response.deadlineMs === 0) limitTime(services, response, incoming);
  const hedge = mayHedge(services, incoming, candidates)
    ? (await import("./routing/hedge.ts")).hedge
    : undefined;
  const search = { caller, incoming, account, candidates, mayMoveOn, hedge };
  const reply = await failOver(services, state, search, response.gone);
  state.entry?.heard(reply.headers);
  return reply;
}

/** Whether a second call may be made while the first one is late: of a stream that no upstream keeps (requirements C45). */
function mayHedge(
  { ctx }: Pick<Services, "ctx">,
  { isStream, state }: IncomingRequest,
  candidates: readonly LiveChannel[],
): boolean {
  if (!isStream || candidates.length < 2 || state?.isStored === true) return false;
  return ctx.options.get("HedgeStreamsEnabled");
}

/** The account of a request, at the price of the first channel that has one. Throws: LocalError. */
function accountOf(
  { bill }: Services,
  state: RequestState,
  part: Pick<Admitted, "caller" | "incoming" | "candidates">,
): Account {
  const { caller, incoming } = part;
  const price = priceOf(bill, incoming, caller, part.candidates);
  if (caller.limits.length > 0) return limitedAccount(bill, state, { caller, incoming, price });
  const { requestId, startedMs, trace } = state;
  const pricing = pricingOf(bill, incoming);
  return new Account(bill, { requestId, startedMs, caller, incoming, trace }, { price, pricing });
}

/** Why the ledger did not reserve the estimate. */
export async function refusalOf(
  services: Services,
  state: Pick<RequestState, "caller" | "offers" | "address">,
  verdict: Exclude<ReserveVerdict, "reserved">,
): Promise<RelayFault> {
  if (typeof verdict === "object" && state.caller !== undefined) {
    const { options, clock } = services.ctx;
    return windowFault(state.caller, verdict, { zone: options.get("BudgetTimeZone"), nowMs: clock.now() });
  }
  switch (verdict) {
    case "user_quota":
      return localErrors.userQuota();
    case "user_disabled":
      return localErrors.userDisabled();
    case "token_quota":
    case "token_unusable": {
      const reason = await services.authenticator.explain(state.offers, state.address);
      return reason ?? (verdict === "token_quota" ? localErrors.tokenQuota() : localErrors.keyInvalid());
    }
    default:
      throw new Error(`unknown verdict ${JSON.stringify(verdict satisfies LimitRefusal | PlanRefusal)}`);
  }
}

type Timed = Pick<IncomingRequest, "isStream" | "isTimed">;

/**
 * After a channel that was silent for the whole time another one may still answer at once. Deadlines are checked every 250 ms: together
 * less than a second.
 */
const LAST_CHANCE_MS = 500;

/** Starts the time limit of a call that is no stream: for all its attempts together (RELAY_TIMEOUT). */
export function limitTime(
  { ctx, upstream }: Services,
  response: ClientResponse,
  { isStream, isTimed }: Timed,
): void {
  const { totalMs } = upstream.limits;
  const isLimited = !isStream || isTimed === true;
  if (isLimited && totalMs > 0) response.deadlineMs = ctx.clock.now() + totalMs + LAST_CHANCE_MS;
}

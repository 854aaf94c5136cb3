// The steps of a request in which it passes the limits that were set for its caller (admission/call-limits.ts, billing/cost-cap.ts).
import type { Price } from "#server/money/price.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Admission, LimitedCall } from "./admission/call-limits.ts";
import { Account } from "./billing/account.ts";
import { type CostCap, costCapOf, fitCost } from "./billing/cost-cap.ts";
import { estimatePrompt, expectedOutput, pricingOf } from "./billing/pricing-text.ts";
import { isOfLimit, limitErrors } from "./http/limit-errors.ts";
import type { LimitHead } from "./http/limit-head.ts";
import { LocalError } from "./http/local-errors.ts";
import type { Admitted, RequestState } from "./routing/failover.ts";
import type { Services } from "./services.ts";
import type { IncomingRequest } from "./text/incoming.ts";

/** Passes the limits of a caller; what the call takes of them is given back at its end. Throws: LocalError. */
export async function passLimits(
  { callLimits }: Services,
  state: RequestState,
  { caller, incoming }: Pick<Admitted, "caller" | "incoming">,
): Promise<void> {
  const { model, maxTokens, choices } = incoming;
  const isText = incoming.task === undefined;
  const admission = await callLimits.admit({
    caller,
    model,
    input: isText ? estimatePrompt(incoming) : 0,
    cap: isText && maxTokens ? maxTokens * choices : undefined,
    output: isText ? expectedOutput(incoming) : 0,
    address: state.address,
  });
  state.limitHead?.passed(admission.rates);
  if (admission.fault !== undefined) throw new LocalError(admission.fault);
  state.admission = admission;
}

/**
 * Gives back what a call did not use of the limits set for its caller. A function of the state and no closure in it: V8's young collections
 * keep whatever such a closure reaches until the next full one (measured: 13 KB of each call, and a tenth of its CPU).
 */
export function endAdmission(state: RequestState): void {
  const { admission, account, booked } = state;
  state.admission = undefined;
  if (account === undefined || wasRefused(state)) admission?.undo();
  else admission?.leave(booked?.usage);
}

/** Whether a limit refused it: then it counts nowhere. A stream that quota ends was begun all the same. */
export function wasRefused({ reply, fault }: Pick<RequestState, "reply" | "fault">): boolean {
  return reply === undefined && fault !== undefined && isOfLimit(fault);
}

/** A call that goes on after its answer, or without one. */
interface LongCall {
  freeSlot: (isRefused?: boolean) => void;
  readonly limitHead?: LimitHead | undefined;
  readonly fault?: RelayFault | undefined;
}

/** Counts such a call in the limits of its caller until its slot is free: then one with a fault counts nowhere. Throws: LocalError. */
export async function countCall(
  { callLimits }: Pick<Services, "callLimits">,
  state: LongCall,
  call: LimitedCall,
  end = (one: Admission) => (state.fault === undefined ? one.leave(undefined) : one.undo()),
): Promise<Admission> {
  const admission = await callLimits.admit(call);
  state.limitHead?.passed(admission.rates);
  if (admission.fault !== undefined) throw new LocalError(admission.fault);
  const { freeSlot } = state;
  state.freeSlot = (isRefused) => {
    freeSlot(isRefused);
    end(admission);
  };
  return admission;
}

/**
 * The account of a call whose cost may be limited. It may have to put out less then: the state has the request as it is sent, and the client
 * is told. Throws: LocalError.
 */
export function limitedAccount(
  bill: Services["bill"],
  state: RequestState,
  { caller, incoming, price }: Pick<Admitted, "caller" | "incoming"> & { readonly price: Price },
): Account {
  const cap = costCapOf(caller, incoming.model, bill.clock.seconds());
  const fitted = cap === undefined ? incoming : fittedTo(bill, incoming, { cap, price });
  if (fitted !== incoming) state.incoming = fitted;
  if (state.limitHead !== undefined)
    state.limitHead.mostTokens = fitted === incoming ? undefined : fitted.maxTokens;
  const { requestId, startedMs, trace } = state;
  const billed = { requestId, startedMs, caller, incoming: fitted, trace };
  const { limitHead } = state;
  return new Account(bill, billed, { price, pricing: pricingOf(bill, fitted), cap, limitHead });
}

function fittedTo(
  bill: Services["bill"],
  incoming: IncomingRequest,
  { cap, price }: { cap: CostCap; price: Price },
): IncomingRequest {
  const first = pricingOf(bill, incoming).firstAmount(price);
  if (incoming.task === undefined) return fitCost(cap, incoming, { price, first });
  if (first > cap.amount) throw new LocalError(limitErrors.tooDear(cap.row));
  return incoming;
}

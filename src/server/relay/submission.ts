// A call that begins work in the background, from its first byte to its last: an order for a video, a file, an order for a batch. Never throws.
import type { JsonRecord } from "#server/upstream/json/values.ts";
import { type Caller, isLimited } from "./admission/admit.ts";
import { faultOf, tellDone } from "./finish.ts";
import type { ClientResponse } from "./http/client-response.ts";
import type { RelayRequest } from "./http/exchange.ts";
import { isOfLimit } from "./http/limit-errors.ts";
import { throwAwayRest } from "./http/request-chunks.ts";
import { type Asked, addressOf, offersOf } from "./http/routes.ts";
import { newRequestState, type RequestState } from "./routing/failover.ts";
import type { Services } from "./services.ts";
import { beginLimited, fillRest } from "./tell-limits.ts";

export interface SubmissionCall {
  readonly services: Services;
  readonly req: RelayRequest;
  readonly response: ClientResponse;
  readonly asked: Asked;
}

/** A submission while it is under way. */
export interface Submission extends RequestState {
  /** "" = it is not known yet. */
  model: string;
}

interface Kind {
  /** What operators know it by. */
  readonly name: string;
  readonly endpoint: RequestState["endpoint"];
  /** Of a body that is refused so much is read to its end and thrown away; undefined = nothing. */
  readonly mostRest?: number;
}

/** Answers it with what `send` makes of it. One line for the operator, and of one that failed an entry in the log. */
export async function submission(
  { services, req, response, asked }: SubmissionCall,
  { name, endpoint, mostRest }: Kind,
  send: (state: Submission, caller: Caller) => Promise<JsonRecord>,
): Promise<void> {
  const { ctx, authenticator } = services;
  const address = addressOf(req, ctx.config.trustedProxies);
  const offers = offersOf(req, asked.key);
  const { requestId } = response;
  const startedMs = ctx.clock.now();
  const { headers } = req;
  const begun = newRequestState({ requestId, startedMs, endpoint, offers, address, headers });
  const state: Submission = { ...begun, model: "" };
  try {
    const caller = await authenticator.authenticate(offers, address);
    state.caller = caller;
    response.language = caller.language;
    if (isLimited(caller, services.limits)) await beginLimited(services, state, response, caller);
    const object = await send(state, caller);
    await fillRest(services, state, state.model);
    response.sendJson(200, object);
  } catch (error) {
    state.fault = faultOf(error);
    await fillRest(services, state, state.model);
    response.sendFault(state.fault);
    if (mostRest !== undefined) throwAwayRest(req, mostRest);
  } finally {
    state.freeSlot(state.fault !== undefined && isOfLimit(state.fault));
    state.entry?.leave(0);
    state.run?.end(0);
  }
  tell(services, state, name);
}

function tell({ ctx, errorLog }: Services, state: Submission, name: string): void {
  const { caller, fault, model } = state;
  const status = fault?.status ?? 200;
  tellDone(ctx, { ...state, endpoint: name, incoming: { model, isStream: false } }, status);
  if (fault !== undefined && caller !== undefined)
    errorLog.note({ ...state, caller, fault, isStream: false, status });
}

// Makes the bytes of one call and chooses its response handler, as the way of its plan says, without the fields by which the upstream
// would charge us more than the client is charged (price-fields.ts).
import { type RelayFault, unmappableFault } from "#server/upstream/errors/fault.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import type { Call, Outcome, Plan, PrepareTools } from "./call.ts";
import { priceFields, withoutFields } from "./price-fields.ts";

/** Prepares a call. A promise only where media have to be fetched first. */
export function prepare(tools: PrepareTools, call: Call, plan: Plan): Outcome | Promise<Outcome> {
  try {
    const { body, endpoint } = call;
    const dear = priceFields(body, endpoint, plan.quirks?.priceFields);
    const cheap = dear.length === 0 ? call : { ...call, body: withoutFields(body, dear) };
    const prepared = plan.way.prepare(tools, cheap, plan);
    return prepared instanceof Promise
      ? prepared.then((late) => telling(late, dear)).catch(faultOf)
      : telling(prepared, dear);
  } catch (error) {
    return faultOf(error);
  }
}

function telling(outcome: Outcome, names: readonly string[]): Outcome {
  if (names.length === 0) return outcome;
  return outcome.kind === "fault" ? outcome : { ...outcome, dropped: [...names, ...outcome.dropped] };
}

function faultOf(error: unknown): RelayFault {
  if (error instanceof Unmappable) return unmappableFault(error.what, error.reason);
  // Strings in a body may hold JSON too deep to serialize: that is an error of the client's request, not ours (requirements R05).
  if (error instanceof RangeError) return unmappableFault("messages", "内容嵌套过深");
  throw error;
}

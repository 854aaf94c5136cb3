// What becomes of an event of a stream: its meter says it, but for the first one, which may be an error in other words than meters know.
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import type { EventAction, Meter, ResponseHandler } from "./handler.ts";

/** Takes an event in. */
export function judgedEvent(course: ResponseHandler, meter: Meter, event: SseEvent): EventAction {
  const isBegun = meter.events > 0;
  const action = meter.take(event);
  if (isBegun || meter.events === 0 || isFault(action)) return action;
  return course.first?.(event) ?? action;
}

function isFault(action: EventAction): action is RelayFault {
  return typeof action === "object" && "kind" in action;
}

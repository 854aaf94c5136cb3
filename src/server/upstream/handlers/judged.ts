// The action for a stream event: its observer decides, except that the first event may be an error in a form the observer does not know.
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { SseEvent } from "#server/upstream/hub/sse.ts";
import type { EventAction, ResponseHandler, StreamObserver } from "./handler.ts";

/** Judges one event. */
export function judgedEvent(
  handler: ResponseHandler,
  observer: StreamObserver,
  event: SseEvent,
): EventAction {
  const isBegun = observer.events > 0;
  const action = observer.take(event);
  if (isBegun || observer.events === 0 || isFault(action)) return action;
  return handler.first?.(event) ?? action;
}

function isFault(action: EventAction): action is RelayFault {
  return typeof action === "object" && "kind" in action;
}

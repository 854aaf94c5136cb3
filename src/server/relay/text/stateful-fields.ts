// Fields that rely on state kept by an upstream: the next call may go to another channel (vendors/responses-stored). Pure.
import type { EndpointName } from "#contract/providers.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { STATE } from "#server/upstream/clients/responses.ts";

/** `read` reads a member of the body by its name; undefined = it has none. Throws: LocalError. */
export function refuseState(endpoint: EndpointName, read: (name: string) => unknown): void {
  const isAsked = (name: string) => {
    const value = read(name);
    return value !== undefined && value !== null && value !== false;
  };
  if (endpoint === "messages" && isAsked("thread")) throw new LocalError(localErrors.threadRefused());
  if (endpoint !== "responses") return;
  const name = STATE.find(isAsked);
  if (name !== undefined) throw new LocalError(localErrors.stateRefused(name));
}

/** What a request for a response asks its upstream to keep. */
export interface StateAsked {
  /** "" = it goes on from none. */
  readonly previous: string;
  readonly isBackground: boolean;
  /** OpenAI keeps what it is not told to forget. */
  readonly isStored: boolean;
  /** A conversation is to be made short: only the wire of Responses can. */
  readonly isCompact: boolean;
}

/** Reads it, where upstreams may keep responses. Throws: LocalError with status 400. */
export function stateAsked(read: (name: string) => unknown, isCompact: boolean): StateAsked {
  const [previous, isBackground, store] = [
    read("previous_response_id") ?? "",
    read("background") ?? false,
    read("store") ?? true,
  ];
  if ((read("conversation") ?? undefined) !== undefined)
    throw new LocalError(localErrors.conversationRefused());
  if (typeof previous !== "string") throw new LocalError(localErrors.fieldInvalid("previous_response_id"));
  if (typeof store !== "boolean") throw new LocalError(localErrors.fieldInvalid("store"));
  if (typeof isBackground !== "boolean") throw new LocalError(localErrors.fieldInvalid("background"));
  // What the upstream does not keep cannot be asked for later.
  if (isBackground && !store) throw new LocalError(localErrors.fieldInvalid("store"));
  if (isBackground && isCompact) throw new LocalError(localErrors.fieldInvalid("background"));
  return { previous, isBackground, isStored: store, isCompact };
}

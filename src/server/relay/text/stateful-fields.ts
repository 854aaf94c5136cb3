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

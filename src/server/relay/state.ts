// What an upstream would have to remember: the next call may go to another channel (providers 17.3.5). Pure.
import type { EndpointName } from "#contract/providers.ts";
import { STATE } from "#server/upstream/clients/responses.ts";
import { Refusal, refusals } from "./refusal.ts";

/** `read` reads a member of the body by its name; undefined = it has none. Throws: Refusal. */
export function refuseState(endpoint: EndpointName, read: (name: string) => unknown): void {
  const isAsked = (name: string) => {
    const value = read(name);
    return value !== undefined && value !== null && value !== false;
  };
  if (endpoint === "messages" && isAsked("thread")) throw new Refusal(refusals.threadRefused());
  if (endpoint !== "responses") return;
  const name = STATE.find(isAsked);
  if (name !== undefined) throw new Refusal(refusals.stateRefused(name));
}

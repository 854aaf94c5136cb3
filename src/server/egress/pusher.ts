// Sends a message to the operator's message pusher (requirements W4.8).
import type { Egress } from "./dispatcher.ts";
import { fetchJson } from "./fetch-json.ts";
import { SMALL_CALL, type Unreached, unreached } from "./small-call.ts";

export interface PushMessage {
  readonly title: string;
  readonly content: string;
  /** The site the message is about; "" = unknown. */
  readonly link: string;
}

/** Returns undefined when the pusher accepted it, else the problem. Never throws. */
export async function pushMessage(
  egress: Pick<Egress, "send">,
  pusher: { url: string; token: string },
  message: PushMessage,
): Promise<Unreached | undefined> {
  const result = await fetchJson(egress, {
    ...SMALL_CALL,
    method: "POST",
    url: pusher.url,
    headers: ["content-type", "application/json"],
    body: JSON.stringify({
      title: message.title,
      description: message.content,
      content: message.content,
      url: message.link,
      channel: "",
      token: pusher.token,
    }),
  });
  if (result.kind === "fault") return unreached(result);
  const { body } = result;
  const isTaken =
    typeof body === "object" && body !== null && "success" in body && (body.success as unknown) === true;
  return isTaken ? undefined : { problem: `status ${result.status}`, isProxy: false };
}

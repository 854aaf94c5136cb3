// Asks the operator's WeChat server for the account of a code (requirements W4.6). Of its answer only the id is passed on.
import type { Egress } from "./dispatcher.ts";
import { fetchJson } from "./fetch-json.ts";
import { SMALL_CALL, textField, type Unreached, unreached } from "./small-call.ts";

/** `none` = the code is wrong or expired; `problem` is short and typed, for the logger. */
export type WeChatResult =
  | { readonly kind: "person"; readonly id: string }
  | { readonly kind: "none" }
  | ({ readonly kind: "problem" } & Unreached);

/** Never throws. `url`: address of the server, without a trailing slash. */
export async function readWeChatPerson(
  egress: Pick<Egress, "send">,
  args: { url: string; token: string; code: string },
): Promise<WeChatResult> {
  const result = await fetchJson(egress, {
    ...SMALL_CALL,
    url: `${args.url}/api/wechat/user?code=${encodeURIComponent(args.code)}`,
    headers: ["authorization", args.token],
  });
  if (result.kind === "fault") return { kind: "problem", ...unreached(result) };
  const { body, status } = result;
  if (status !== 200 || typeof body !== "object" || body === null)
    return { kind: "problem", problem: `status ${status}`, isProxy: false };
  if (!("success" in body) || body.success !== true) return { kind: "none" };
  const id = textField(body, "data");
  return id === "" || id.length > 200 ? { kind: "none" } : { kind: "person", id };
}

// Half a login: the password, or an outside service, has proved the owner, and the second factor is still to come. It lives ten
// minutes and can do nothing but bring that factor (requirements I29).
import { randomId } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import type { SeenColumns } from "#server/store/users.ts";
import { type CodeRef, type CodeTools, issueCode, peekCode, redeemCode } from "./codes.ts";

/** How long its cookie lives; the code behind it lives as long. Unit: seconds. */
export const HALF_SEC = 600;

/** What was proved, and how. */
export interface HalfLogin {
  readonly userId: number;
  readonly via: string;
  readonly proven: SeenColumns;
  /** Of the session at an outside provider. */
  readonly outside:
    | { readonly provider_id: number; readonly logout_key: string; readonly id_token: string }
    | undefined;
}

function refOf(id: string): CodeRef {
  return { purpose: "half", subject: id };
}

/** Keeps half a login and returns its id, the cookie's value. */
export async function keepHalf(tools: CodeTools, { userId, ...rest }: HalfLogin): Promise<string> {
  const id = randomId();
  await issueCode(tools, refOf(id), { text: id, userId, detail: JSON.stringify(rest) });
  return id;
}

/** The login a cookie stands for; undefined when it has ended. */
export async function findHalf(tools: CodeTools, id: string | undefined): Promise<HalfLogin | undefined> {
  if (id === undefined) return undefined;
  const found = await peekCode(tools, refOf(id), id);
  // Sealed by `keepHalf`, so it is what that wrote.
  return found && { userId: found.user_id, ...(JSON.parse(found.detail) as Omit<HalfLogin, "userId">) };
}

/** Ends it in the caller's transaction; of several that do, one is told true. */
export async function takeHalf(tools: CodeTools, db: Db, id: string): Promise<boolean> {
  return (await redeemCode(tools, db, refOf(id), id)) !== undefined;
}

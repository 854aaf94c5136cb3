// Ends the sessions of people who have logged out at their provider, as it tells by a signed token (requirements I64).
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { dropHalves, endSessionsOf, findIdentity } from "#server/store/sign-on.ts";
import type { Tools } from "#server/tools.ts";
import { LOGOUT_AGE_SEC } from "./oidc-logout.ts";
import type { SignOn } from "./sign-on.ts";

type LogoutTools = Pick<Tools, "db" | "coord" | "secrets"> & { readonly signOn: SignOn };

/** A token may be older than its age by two clocks, and lie ahead by as much. Unit: ms. */
const REMEMBERED_MS = 3 * LOGOUT_AGE_SEC * 1_000;

/** Ends what a token tells of; `beside` is written in the same transaction, once for each user. Throws: AppError for all that is wrong. */
export async function takeLogout(
  { db, coord, secrets, signOn }: LogoutTools,
  { slug, token }: { slug: string; token: string },
  beside: (tx: Db, ended: { userId: number; sessions: number }) => Promise<void>,
): Promise<void> {
  const { providerId, subject, sid, tokenId } = await signOn.readLogout(slug, token);
  const used = `provider-logout:${providerId}:${secrets.hash(`logout ${tokenId}`)}`;
  if (!(await coord.remember(used, REMEMBERED_MS))) throw faults.refused("该注销通知已处理");
  await db.transaction().execute(async (tx) => {
    const identity = subject === "" ? undefined : await findIdentity(tx, providerId, subject);
    // No account has this identity, so that the person has no session here.
    if (subject !== "" && identity === undefined) return;
    const userId = identity?.user_id;
    const ended = await endSessionsOf(tx, { providerId, userId, sid });
    if (userId !== undefined) await dropHalves(tx, userId);
    for (const one of new Set(ended)) {
      const sessions = ended.filter((id) => id === one).length;
      await beside(tx, { userId: one, sessions });
    }
  });
}

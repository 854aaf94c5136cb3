// The address at which providers of OpenID Connect tell that a person has logged out there: a form with a signed token, no session. They
// learn whether it was taken, and nothing else (requirements I64).
import { takeLogout } from "#server/accounts/provider-logout.ts";
import type { Context } from "#server/context.ts";
import { LIMITS } from "#server/limits/table.ts";
import { audit, unknownActor } from "./audit-log.ts";
import { readBody } from "./guard.ts";

/** Throws: AppError. */
export async function answerLogout(
  ctx: Context,
  request: Request,
  { slug, address, requestId }: { slug: string; address: string; requestId: string },
): Promise<void> {
  await ctx.limits.count([{ limit: LIMITS.providerLogout, subject: address }], address);
  const token = new URLSearchParams(await readBody(request, false)).get("logout_token") ?? "";
  const call = { actor: unknownActor, address, requestId };
  await takeLogout(ctx, { slug, token }, (tx, { userId, sessions }) =>
    audit(ctx, tx, call, { action: "auth.logout", target: userId, detail: { via: slug, sessions } }),
  );
}

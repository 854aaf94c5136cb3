// Handlers: the owner of an account proves again to be there. The proof is noted in this session and counts five minutes (requirements
// I32). An account without a second factor proves itself with the password.
import type { FactorKind, verifyApi } from "#contract/factor.ts";
import { acceptCode, isProtected } from "#server/accounts/factors.ts";
import { askPasskey, judgePasskey } from "#server/accounts/passkeys.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import type { Db } from "#server/store/db.ts";
import { countFactors } from "#server/store/factors.ts";
import { confirmSession } from "#server/store/sessions.ts";
import { findPasswordByUserId } from "#server/store/users.ts";
import { audit } from "./audit-log.ts";
import type { Call, Handlers } from "./call.ts";
import { ownSession, telling } from "./factors.ts";
import { kindsOf } from "./sign-in.ts";

const WRONG = "验证码不正确";
const TOO_NEW = "用恢复码登录后添加的验证方式，24 小时后才能用于敏感操作";

export const verify: Handlers<{ verify: typeof verifyApi }>["verify"] = {
  async methods(ctx, { actor }) {
    const factors = await countFactors(ctx.db, actor.id);
    const kinds = kindsOf(factors).filter((kind) => kind !== "recovery");
    if (isProtected(factors)) return kinds;
    const hasPassword = (await findPasswordByUserId(ctx.db, actor.id)) !== "";
    return hasPassword ? (["password"] satisfies FactorKind[]) : [];
  },

  async confirm(ctx, call) {
    const { actor, body, address } = call;
    await ownSession(ctx, call);
    if (isProtected(await countFactors(ctx.db, actor.id))) {
      const typed = body.code ?? "";
      const found =
        typed === ""
          ? undefined
          : await acceptCode(ctx, { userId: actor.id, typed, address, noRecovery: true });
      if (found?.kind !== "totp") throw faults.verification("VERIFICATION_INVALID", WRONG);
      refuseNew(ctx, found.trustedFrom);
      await note(ctx, call, "totp");
      return null;
    }
    const stored = (await findPasswordByUserId(ctx.db, actor.id)) ?? "";
    if (stored === "") throw faults.refused("这个账户没有密码，请重新登录后再试");
    const asked = { userId: actor.id, password: body.password ?? "", stored, address };
    if (!(await ctx.logins.confirm(asked))) throw faults.verification("VERIFICATION_INVALID", "密码不正确");
    await note(ctx, call, "password");
    return null;
  },

  async askPasskey(ctx, call) {
    const { sessionId } = await ownSession(ctx, call);
    const options = await askPasskey(ctx, { purpose: "passkey-confirm", holder: sessionId }, call.actor.id);
    return { ...options };
  },

  async confirmPasskey(ctx, call) {
    const { actor, body } = call;
    const { sessionId } = await ownSession(ctx, call);
    const asked = {
      purpose: "passkey-confirm",
      holder: sessionId,
      userId: actor.id,
      response: body,
    } as const;
    const used = await judgePasskey(ctx, asked, telling(ctx));
    refuseNew(ctx, used.row.trusted_from);
    await note(ctx, call, "passkey", async (tx) => {
      if (!(await used.use(tx)))
        throw faults.verification("VERIFICATION_INVALID", "通行密钥验证失败，请重试");
    });
    return null;
  },
};

function refuseNew({ clock }: Pick<Context, "clock">, trustedFrom: number): void {
  if (trustedFrom > clock.seconds()) throw faults.verification("VERIFICATION_INVALID", TOO_NEW);
}

async function note(
  ctx: Context,
  call: Call<typeof verifyApi.confirm> | Call<typeof verifyApi.confirmPasskey>,
  kind: FactorKind,
  before: (tx: Db) => Promise<void> = async () => undefined,
): Promise<void> {
  const now = ctx.clock.seconds();
  const hash = ctx.secrets.hash(call.session.id ?? "");
  await ctx.db.transaction().execute(async (tx) => {
    await before(tx);
    const mfa = kind === "password" ? {} : { mfa_at: now };
    await confirmSession(tx, hash, { stepup_at: now, ...mfa });
    await audit(ctx, tx, call, { action: "auth.verify", target: call.actor.id, detail: { kind } });
  });
}

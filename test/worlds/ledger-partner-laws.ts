// The commands of the ledger about codes, gifts, invitations and commission, for the model-based test of its laws.
import fc from "fast-check";
import { expect } from "vitest";
import type { Redeemed } from "#server/money/partner-operations.ts";
import { amounts, at, type Command, command, pick } from "./ledger-laws.ts";
import { type Model, type ModelCode, type ModelUser, Real } from "./ledger-model.ts";
import { codeTerms } from "./ledger-world.ts";
import { seedRedemption, seedUser } from "./stores.ts";

const display = { quotaPerUnit: 500_000, inCurrency: true };

const signUp = fc.tuple(at, fc.tuple(amounts, amounts, amounts)).map(([which, [own, invitee, inviter]]) =>
  command(
    `signUp(by ${which}, ${own}, ${invitee}, ${inviter})`,
    () => true,
    async (model, real) => {
      const host = which === 0 ? undefined : pick(model.users, which);
      const inviterId = host?.id ?? 0;
      const userId = await seedUser(real.store.db, { inviter_id: inviterId });
      const gifts = { userId, inviterId, forNewUser: own, forInvitee: invitee, forInviter: inviter, display };
      await Promise.all([real.ledger.grantSignup(gifts), real.ledger.grantSignup(gifts)]);
      const isInvited = host?.isEnabled === true;
      if (host && isInvited) host.quota += inviter;
      model.users.push({
        id: userId,
        inviterId,
        isEnabled: true,
        commission: 0n,
        quota: own + (isInvited ? invitee : 0n),
        used: 0n,
        calls: 0,
      });
    },
  ),
);

const makeCode = amounts.map((quota) =>
  command(
    `makeCode(${quota})`,
    () => true,
    async (model, real) => {
      const id = await seedRedemption(real.store.db, { quota: Number(quota) });
      model.codes.push({ id, quota, status: 1, usedBy: 0 });
    },
  ),
);

const toggleCode = at.map((which) =>
  command(
    `toggleCode(${which})`,
    (model) => model.codes.some((code) => code.status !== 3),
    async (model, real) => {
      const code = pick(
        model.codes.filter((one) => one.status !== 3),
        which,
      );
      if (!code) return;
      code.status = 3 - code.status;
      await real.store.db
        .updateTable("redemptions")
        .set({ status: code.status })
        .where("id", "=", code.id)
        .execute();
    },
  ),
);

const banUser = at.map((which) =>
  command(
    `banUser(${which})`,
    (model) => model.users.length > 0,
    async (model, real) => {
      const user = pick(model.users, which);
      if (!user) return;
      user.isEnabled = !user.isEnabled;
      await real.store.db
        .updateTable("users")
        .set({ status: user.isEnabled ? 1 : 2 })
        .where("id", "=", user.id)
        .execute();
    },
  ),
);

/** What the rules say a redemption comes to; books it in the model when it takes place. */
function expected(
  model: Model,
  { user, code, giver }: { user: ModelUser; code: ModelCode; giver: ModelUser | undefined },
): Redeemed {
  if (!user.isEnabled) return { outcome: "user_disabled" };
  if (code.status !== 1) return { outcome: code.status === 3 ? "used_code" : "disabled_code" };
  if (giver === user) return { outcome: "own_gift" };
  if (giver && !giver.isEnabled) return { outcome: "unknown_gift" };
  const bonus = giver ? (code.quota * 5n) / 100n : 0n;
  user.quota += code.quota + bonus;
  if (giver) giver.quota += bonus;
  const inviter = model.users.find((one) => one.id === user.inviterId);
  // 0.5 yuan × 5 % of each dollar, $1 = 500,000: a twentieth of a millionth of a yuan for each unit.
  if (inviter?.isEnabled) inviter.commission += code.quota / 20n;
  code.status = 3;
  code.usedBy = user.id;
  return { outcome: "done", quota: code.quota, bonus };
}

const redeem = fc.tuple(at, at, fc.option(at, { nil: undefined })).map(([whose, which, gift]) =>
  command(
    `redeem(${whose}, ${which}, ${gift})`,
    (model) => model.users.length > 0 && model.codes.length > 0,
    async (model, real) => {
      const [user, code] = [pick(model.users, whose), pick(model.codes, which)];
      if (!user || !code) return;
      const giver = gift === undefined ? undefined : pick(model.users, gift);
      const order = {
        operationId: `redeem-law-${++Real.serial}`,
        userId: user.id,
        redemptionId: code.id,
        giverId: giver?.id ?? null,
        inviterId: user.inviterId,
        terms: codeTerms,
        display,
      };
      const redeemed = expected(model, { user, code, giver });
      // The second time is a repetition of the first when that took place, and refused as the first was when not.
      expect(await Promise.all([real.ledger.redeem(order), real.ledger.redeem(order)])).toEqual([
        redeemed,
        redeemed,
      ]);
    },
  ),
);

const changeCommission = fc
  .tuple(at, fc.bigInt(-2_000n, 2_000n), fc.boolean())
  .map(([which, amount, isTarget]) =>
    command(
      `changeCommission(${which}, ${isTarget ? "=" : "+"}${amount})`,
      (model) => model.users.length > 0,
      async (model, real) => {
        const user = pick(model.users, which);
        if (!user) return;
        const before = user.commission;
        const after = isTarget ? amount : before + amount;
        const changed = await real.ledger.changeCommission({
          userId: user.id,
          kind: "commission-adjust",
          micro: isTarget ? { target: amount } : { delta: amount },
          actorId: 1,
          reason: "",
        });
        expect(changed).toEqual(after < 0n ? { outcome: "below_zero" } : { outcome: "done", before, after });
        if (after >= 0n) user.commission = after;
      },
    ),
  );

const withdraw = fc.tuple(at, fc.bigInt(99_999_990n, 100_000_010n)).map(([which, amount]) =>
  command(
    `withdraw(${which}, ${amount})`,
    (model) => model.users.length > 0,
    async (model, real) => {
      const user = pick(model.users, which);
      if (!user) return;
      // Half of the time there is enough.
      if (which % 2 === 0) {
        const by = { userId: user.id, actorId: 1, reason: "" };
        const micro = { delta: 100_000_000n };
        await real.ledger.changeCommission({ ...by, kind: "commission-adjust", micro });
        user.commission += 100_000_000n;
      }
      const before = user.commission;
      const { outcome } = await real.ledger.changeCommission({
        userId: user.id,
        kind: "withdraw",
        micro: { delta: -amount },
        leastMicro: 100_000_000n,
        actorId: 1,
        reason: "",
      });
      if (amount < 100_000_000n) expect(outcome).toBe("below_least");
      else expect(outcome).toBe(before < amount ? "below_zero" : "done");
      if (outcome === "done") user.commission -= amount;
    },
  ),
);

export const partnerCommands: readonly fc.Arbitrary<Command>[] = [
  signUp,
  makeCode,
  makeCode,
  toggleCode,
  banUser,
  redeem,
  redeem,
  redeem,
  changeCommission,
  withdraw,
];

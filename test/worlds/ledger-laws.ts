// All commands of the ledger, for the model-based test of its laws.
import fc from "fast-check";
import { expect } from "vitest";
import { updateToken } from "#server/store/tokens.ts";
import {
  compare,
  type Model,
  type ModelCall,
  type ModelToken,
  type ModelUser,
  Real,
} from "./ledger-model.ts";
import { seedToken, seedUser } from "./stores.ts";

export type Command = fc.AsyncCommand<Model, Real>;

export const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % list.length];

/** Runs a step and compares everything afterwards. */
export function command(
  text: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => Promise<void>,
): Command {
  return {
    check: (model) => check(model as Model),
    async run(model, real) {
      await run(model, real);
      await compare(model, real);
    },
    toString: () => text,
  };
}

export const amounts = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(0n, 200n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 100_000n) },
);
export const at = fc.nat(50);

const createAccount = fc.tuple(amounts, fc.option(amounts, { nil: undefined })).map(([quota, remain]) =>
  command(
    `createAccount(${quota}, ${remain})`,
    () => true,
    async (model, real) => {
      const userId = await seedUser(real.store.db);
      const tokenId = await seedToken(real.store.db, userId, {
        unlimited_quota: remain === undefined ? 1 : 0,
      });
      const by = { userId, actorId: userId, reason: "" };
      await real.ledger.adjust({ ...by, kind: "grant", quota: { delta: quota } });
      if (remain !== undefined) {
        await real.ledger.adjust({ ...by, tokenId, kind: "token-adjust", quota: { target: remain } });
      }
      model.users.push({
        id: userId,
        inviterId: 0,
        isEnabled: true,
        commission: 0n,
        quota,
        used: 0n,
        calls: 0,
      });
      model.tokens.push({
        id: tokenId,
        userId,
        isUnlimited: remain === undefined,
        isDeleted: false,
        remain: remain ?? 0n,
        used: 0n,
      });
    },
  ),
);

/** The verdicts that the rules allow for a call of this amount. */
function possible(user: ModelUser, token: ModelToken, amount: bigint): string[] {
  if (!user.isEnabled) return ["user_disabled"];
  if (token.isDeleted) return ["token_unusable"];
  // A token at zero may be marked as exhausted: then even a free call is refused.
  if (!token.isUnlimited && token.remain === 0n) return ["token_quota", "user_quota", "reserved"];
  if (user.quota < amount) return ["user_quota"];
  return [!token.isUnlimited && token.remain < amount ? "token_quota" : "reserved"];
}

const reserve = fc.tuple(at, amounts).map(([which, amount]) =>
  command(
    `reserve(${which}, ${amount})`,
    (model) => model.tokens.length > 0,
    async (model, real) => {
      const token = pick(model.tokens, which);
      const user = model.users.find((one) => one.id === token?.userId);
      if (!token || !user) return;
      const requestId = `law-${++Real.serial}`;
      const order = { requestId, userId: user.id, tokenId: token.id, amount, modelName: "m" };
      const verdict = await real.ledger.reserve(order);
      expect(possible(user, token, amount)).toContain(verdict);
      if (verdict !== "reserved") return;
      const isLimited = !token.isUnlimited;
      user.quota -= amount;
      if (isLimited) token.remain -= amount;
      model.open.push({ requestId, user, token, isLimited, amount, seen: 0n });
    },
  ),
);

const onOpen = (
  name: string,
  run: (call: ModelCall, amount: bigint, model: Model, real: Real) => Promise<void>,
) =>
  fc.tuple(at, amounts).map(([which, amount]) =>
    command(
      `${name}(${which}, ${amount})`,
      (model) => model.open.length > 0,
      async (model, real) => {
        const call = pick(model.open, which);
        if (call) await run(call, amount, model, real);
      },
    ),
  );

const extend = onOpen("extend", async (call, more, _model, real) => {
  const isAffordable = call.user.quota >= more && (!call.isLimited || call.token.remain >= more);
  expect(await real.ledger.extend(call.requestId, more)).toBe(isAffordable);
  if (!isAffordable) return;
  call.user.quota -= more;
  if (call.isLimited) call.token.remain -= more;
  call.amount += more;
});

const checkpoint = onOpen("checkpoint", async (call, charge, _model, real) => {
  const channelId = real.channels[0] ?? 0;
  real.ledger.checkpoint(call.requestId, { charge, promptTokens: 1, completionTokens: 2, channelId });
  call.seen = charge;
  await real.settled();
});

const bill = (
  call: { requestId: string; user: { id: number }; token: { id: number } },
  charge: bigint,
  channelId: number,
) => ({
  requestId: call.requestId,
  userId: call.user.id,
  tokenId: call.token.id,
  channelId,
  charge,
  usage: { promptTokens: 3, completionTokens: 4, cachedTokens: 0 },
  log: {
    content: "",
    model_name: "m",
    elapsed_time: 1,
    first_byte_time: 1,
    is_stream: 0,
    estimated: 0,
    trail: "",
  },
});

const settle = onOpen("settle", async (call, charge, model, real) => {
  const channelId = pick(real.channels, Number(charge)) ?? 0;
  const charged = model.pay(call, charge, channelId);
  expect(await real.ledger.settle(bill(call, charge, channelId))).toEqual({
    charged,
    shortfall: charge - charged,
  });
});

const release = onOpen("release", async (call, _amount, model, real) => {
  model.giveBack(call);
  await real.ledger.release(call.requestId);
});

const settleAgain = fc.tuple(at, amounts).map(([which, charge]) =>
  command(
    `settleAgain(${which}, ${charge})`,
    (model) => model.closed.length > 0,
    async (model, real) => {
      const done = pick(model.closed, which);
      if (!done) return;
      const parties = { requestId: done.requestId, user: { id: done.userId }, token: { id: done.tokenId } };
      expect(await real.ledger.settle(bill(parties, charge, 0))).toMatchObject({ charged: done.charged });
      await real.ledger.release(done.requestId);
    },
  ),
);

const adjustUser = fc.tuple(at, fc.bigInt(-300n, 300n), fc.boolean()).map(([which, amount, isTarget]) =>
  command(
    `adjustUser(${which}, ${isTarget ? "=" : "+"}${amount})`,
    (model) => model.users.length > 0,
    async (model, real) => {
      const user = pick(model.users, which);
      if (!user) return;
      const after = isTarget ? amount : user.quota + amount;
      const quota = isTarget ? { target: amount } : { delta: amount };
      const adjusted = await real.ledger.adjust({
        userId: user.id,
        kind: "adjust",
        quota,
        actorId: 1,
        reason: "",
      });
      const isFine = after >= 0n;
      expect(adjusted).toEqual(
        isFine ? { outcome: "done", before: user.quota, after } : { outcome: "below_zero" },
      );
      if (isFine) user.quota = after;
    },
  ),
);

const adjustToken = fc.tuple(at, fc.bigInt(0n, 300n)).map(([which, target]) =>
  command(
    `adjustToken(${which}, ${target})`,
    (model) => model.tokens.length > 0,
    async (model, real) => {
      const token = pick(model.tokens, which);
      if (!token) return;
      const { id: tokenId, userId } = token;
      const change = {
        userId,
        tokenId,
        kind: "token-adjust",
        quota: { target },
        actorId: 1,
        reason: "",
      } as const;
      expect(await real.ledger.adjust(change)).toEqual({
        outcome: "done",
        before: token.remain,
        after: target,
      });
      token.remain = target;
    },
  ),
);

const toggleUnlimited = at.map((which) =>
  command(
    `toggleUnlimited(${which})`,
    (model) => model.tokens.some((token) => !token.isDeleted),
    async (model, real) => {
      const token = pick(
        model.tokens.filter((one) => !one.isDeleted),
        which,
      );
      if (!token) return;
      token.isUnlimited = !token.isUnlimited;
      const change = { unlimited_quota: token.isUnlimited ? 1 : 0, status: 1 };
      await updateToken(real.store.db, { id: token.id, userId: token.userId, change });
    },
  ),
);

const deleteToken = at.map((which) =>
  command(
    `deleteToken(${which})`,
    (model) => model.tokens.length > 0,
    async (model, real) => {
      const token = pick(model.tokens, which);
      if (!token) return;
      token.isDeleted = true;
      await real.store.db.updateTable("tokens").set({ deleted_at: 9 }).where("id", "=", token.id).execute();
    },
  ),
);

const crash = fc.constant(
  command(
    "crash()",
    (model) => model.users.length > 0,
    async (model, real) => {
      await real.crash();
      for (const call of [...model.open].sort((a, b) => (a.requestId < b.requestId ? -1 : 1))) {
        model.pay(call, call.seen, call.seen === 0n ? 0 : (real.channels[0] ?? 0));
      }
    },
  ),
);

const wait = fc.constant(
  command(
    "wait an hour",
    () => true,
    async (_model, real) => real.clock.advance(3_600_000),
  ),
);

/** Everything that can happen, reservations and settlements more often than the rest. */
export const commands = [
  createAccount,
  reserve,
  reserve,
  reserve,
  extend,
  checkpoint,
  settle,
  settle,
  release,
  settleAgain,
  adjustUser,
  adjustToken,
  toggleUnlimited,
  deleteToken,
  crash,
  wait,
];

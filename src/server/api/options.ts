// Handlers: the options, and the guards on writing them (requirements W3.10, W6.3).

import { LogType } from "#contract/log.ts";
import {
  isOptionKey,
  type OptionKey,
  type OptionRow,
  type optionApi,
  optionTable,
} from "#contract/option.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import { isSuper } from "#server/accounts/may.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { OptionError, type Options } from "#server/options.ts";
import type { Db } from "#server/store/db.ts";
import { restartCalendars } from "#server/store/limits.ts";
import { insertLog, type NewLog } from "#server/store/logs.ts";
import { NO_CALL } from "#server/store/no-call.ts";
import { type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { refuseAddress, refuseLockout, refuseOrphans } from "./option-guards.ts";

export const option: Handlers<{ option: typeof optionApi }>["option"] = {
  list: ({ options }) => options.list(),

  async update(ctx, call) {
    const { actor, body } = call;
    const { key } = body;
    if (!isOptionKey(key)) throw faults.refused("没有这个选项", key);
    const text = String(body.value);
    const row: OptionRow = optionTable[key];
    if (row.root && !isSuper(actor)) throw faults.denied("只有超级管理员可以修改这个选项", key);
    // A secret is only written when it is not empty (requirements B5).
    if (row.secret && text.trim() === "") return null;
    guard(ctx.options, key, text);
    refuseAddress(ctx, key, text);
    await refuseLockout(ctx, key, text);
    await refuseOrphans(ctx, key, text);
    try {
      await ctx.db.transaction().execute((tx) => write(ctx, tx, { call, key, text }));
    } catch (error) {
      throw error instanceof OptionError ? faults.invalid(error.message) : error;
    }
    await ctx.options.announce();
    ctx.events.optionChanged({ option: key, actorId: actor.id });
    return null;
  },
};

/** A server that gets another address must not be sent the secret of the old one (requirements S06). */
const SECRET_OF_ADDRESS: Partial<Record<OptionKey, OptionKey>> = {
  WeChatServerAddress: "WeChatServerToken",
  MessagePusherAddress: "MessagePusherToken",
  SMTPServer: "SMTPToken",
};

/** Writes the option, the management log entry that says so, and clears a secret that belonged to the old value. */
async function write(
  ctx: Context,
  tx: Db,
  change: { call: ActCall; key: OptionKey; text: string },
): Promise<void> {
  const { call, key, text } = change;
  const row: OptionRow = optionTable[key];
  const replaced = ctx.options.list().find((option) => option.key === key)?.value;
  await ctx.options.write(tx, key, text);
  const secret = SECRET_OF_ADDRESS[key];
  const before = ctx.options.get(key);
  if (secret && before !== "" && before !== withoutEndSlashes(text.trim()))
    await ctx.options.write(tx, secret, "");
  // Another calendar: what was counted by the one before must not fill it (requirements L08).
  if (key === "BudgetTimeZone" && text.trim() !== ctx.options.get(key))
    await restartCalendars(tx, ctx.clock.seconds());
  const said = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  await insertLog(
    tx,
    manageLog(ctx, call.actor, row.secret ? `修改选项 ${key}` : `修改选项 ${key}：${said}`),
  );
  const detail = { value: row.secret ? "changed" : text };
  const act = { action: "option.update", target: key, detail, before: { value: replaced } } as const;
  await audit(ctx, tx, call, act);
}

/** An entry of the usage log about what an administrator did. */
function manageLog(ctx: Context, actor: ActCall["actor"], content: string): NewLog {
  return {
    ...NO_CALL,
    user_id: actor.id,
    created_at: ctx.clock.seconds(),
    type: LogType.manage,
    content,
    username: actor.username,
  };
}

/** What must be filled in before a switch may be turned on; of options in one list, one. */
const NEEDS: Partial<Record<OptionKey, readonly (readonly OptionKey[])[]>> = {
  // What the mailer needs; without letters no visitor could register.
  EmailVerificationEnabled: [["SMTPServer"], ["SMTPFrom", "SMTPAccount"]],
  GitHubOAuthEnabled: [["GitHubClientId"], ["GitHubClientSecret"]],
  WeChatAuthEnabled: [["WeChatServerAddress"], ["WeChatServerToken"]],
  TurnstileCheckEnabled: [["ServerAddress"], ["TurnstileSiteKey"], ["TurnstileSecretKey"]],
  EmailDomainRestrictionEnabled: [["EmailDomainWhitelist"]],
};

/** Throws: AppError when the change would leave a switch without what it needs. */
function guard(options: Options, key: OptionKey, text: string): void {
  const isFilled = (needed: OptionKey) => String(options.get(needed)) !== "";
  if (text === "true") {
    const missing = (NEEDS[key] ?? []).find((choice) => !choice.some(isFilled));
    if (missing) throw faults.refused(`请先填写${missing.map(labelOf).join("或")}`);
    return;
  }
  if (text.trim() !== "") return;
  // The keys of NEEDS are option keys.
  const used = (Object.keys(NEEDS) as OptionKey[])
    .filter((name) => options.get(name) === true)
    .find((name) =>
      NEEDS[name]?.some(
        (choice) => choice.includes(key) && !choice.some((other) => other !== key && isFilled(other)),
      ),
    );
  if (used) throw faults.refused(`请先关闭${labelOf(used)}`);
}

function labelOf(key: OptionKey): string {
  return `“${optionTable[key].label}”`;
}

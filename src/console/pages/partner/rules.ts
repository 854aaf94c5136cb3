// What the partner plan promises, in the words of its terms. Pure.
import type { PartnerTerms } from "#contract/partner-terms.ts";

export interface PartnerRule {
  readonly title: string;
  readonly text: string;
  readonly example: string;
}

/** What the page promises in one sentence. */
export function leadOf({ gift_percent: gift, redeem_percent: cash }: PartnerTerms): string {
  return gift > 0 && cash > 0
    ? `邀请好友使用，获得现金返现与额外额度，最高返利 ${cash + gift}%。`
    : "邀请好友使用，获得奖励。";
}

/** The rewards that are on. */
export function rulesOf(terms: PartnerTerms): readonly PartnerRule[] {
  const { gift_percent, redeem_percent, pay_percent, plan_percent } = terms;
  const hasCash = redeem_percent + pay_percent + plan_percent > 0;
  return [
    ...(hasCash ? [cashRule(terms)] : []),
    ...(gift_percent > 0 ? [giftRule(gift_percent)] : []),
    ...both(terms),
  ];
}

function cashRule(terms: PartnerTerms): PartnerRule {
  const { redeem_percent: redeemed } = terms;
  return {
    title: "现金返现",
    text: cashText(terms),
    example:
      redeemed > 0
        ? `好友兑换 $1000，你得到 ${terms.month_yuan > 0 ? Math.min(redeemed * 5, terms.month_yuan) : redeemed * 5} 元。`
        : "好友付款到账后，奖励随即记入你的返现余额。",
  };
}

/** Which top-ups bring commission. */
function whenText({ first_orders: orders, first_days: days }: PartnerTerms): string {
  if (orders > 0 && days > 0) return `好友注册后 ${days} 天内的前 ${orders} 笔充值`;
  if (orders > 0) return `好友的前 ${orders} 笔充值`;
  return days > 0 ? `好友注册后 ${days} 天内每次充值` : "好友每次充值";
}

function cashText(terms: PartnerTerms): string {
  const { redeem_percent, pay_percent, pay_base, plan_percent, month_yuan } = terms;
  const when = whenText(terms);
  const most = month_yuan > 0 ? `，每月合计最多 ${month_yuan} 元` : "";
  if (redeem_percent === pay_percent && pay_base === "quota" && plan_percent === 0)
    return `${when}，你获得可提现的人民币奖励，金额为充值美元数 × 0.5 × ${pay_percent}%${most}。`;
  const paid =
    pay_base === "quota"
      ? `在线充值为充值美元数 × 0.5 × ${pay_percent}%`
      : `在线充值为付款金额（不含手续费）的 ${pay_percent}%`;
  const parts = [
    ...(redeem_percent > 0 ? [`兑换码为充值美元数 × 0.5 × ${redeem_percent}%`] : []),
    ...(pay_percent > 0 ? [paid] : []),
    ...(plan_percent > 0 ? [`购买套餐为套餐价格的 ${plan_percent}%`] : []),
  ];
  return `${when}，你获得可提现的人民币奖励：${parts.join("；")}${most}。`;
}

function giftRule(percent: number): PartnerRule {
  return {
    title: "赠送额度",
    text: `任何人充值时填写你的礼品码，双方各得该兑换码额度 ${percent}% 的额外额度，不要求是你邀请的好友。`,
    example: `填写后兑换 $1000，双方各得 $${percent * 10}。`,
  };
}

/** A code can bring both. */
function both({ gift_percent: gift, redeem_percent: cash }: PartnerTerms): readonly PartnerRule[] {
  if (gift === 0 || cash === 0) return [];
  return [
    {
      title: "可以叠加",
      text: `两项规则互相独立，同时满足时都会生效：${cash}% 现金加 ${gift}% 额度，最高返利 ${cash + gift}%。`,
      example: "好友充值并填写你的礼品码，两项奖励一并到账。",
    },
  ];
}

/** What bounds the rewards, and what else to know. */
export function notesOf(terms: PartnerTerms): readonly string[] {
  const { first_orders, first_days, month_yuan, least_withdrawal } = terms;
  return [
    "邀请关系在好友通过邀请链接注册时确定，之后不能更改；只有邀请关系而没有填写礼品码时，不会赠送额度。",
    ...(first_orders > 0 ? [`每位好友的前 ${first_orders} 笔充值有返现。`] : []),
    ...(first_days > 0 ? [`好友注册后 ${first_days} 天内的充值有返现。`] : []),
    ...(month_yuan > 0 ? [`每月的返现最多 ${month_yuan} 元，按北京时间计。`] : []),
    "返现与赠送的明细记录在使用日志中，类型为“系统”。",
    payoutText(least_withdrawal),
    "额度有效期为 9 个月，赠送的额度相同。",
    "禁止自我邀请或套利，违规所得的奖励会被撤销。",
  ];
}

/** From how many yuan on, and how, commission is paid out. */
export function payoutText(least: number): string {
  return least === 0
    ? "返现余额可以随时提现，人工审核约需 24 小时，通过支付宝或 USDT 支付。"
    : `返现余额满 ${least} 元可以提现，人工审核约需 24 小时，通过支付宝或 USDT 支付。`;
}

// How administrators read what is stored of payments. Pure.

import type { Tone } from "#console/ui/status-tag.tsx";
import { minorText, moneyText } from "#contract/money.ts";
import { type AdminOrder, PAYMENT_DOUBTS, type PaymentEvent } from "#contract/payment-admin.ts";

/** Why a payment waits for a person, and verdicts of the history. */
const VERDICTS: Readonly<Record<string, string>> = {
  ...PAYMENT_DOUBTS,
  credited: "已入账",
  duplicate: "重复的通知",
  done: "已执行",
  closed: "已关闭",
  second_approved: "补单已批准",
  second_refused: "补单已拒绝",
  listed: "账单里的平台退款",
};

export function verdictText(verdict: string): string {
  return VERDICTS[verdict] ?? verdict;
}

/** What a step of an order's history was: acts on a refund are told as that. */
export function stepText({ verdict, facts }: Pick<PaymentEvent, "verdict" | "facts">): string {
  return verdict === "done" && facts.includes('"refund_no"') ? "退款" : verdictText(verdict);
}

const KINDS: Readonly<Record<string, string>> = { notify: "平台通知", poll: "查询", admin: "管理员" };

export function kindText(kind: string): string {
  return KINDS[kind] ?? kind;
}

const REFUNDS: Readonly<Record<string, string>> = {
  held: "已收回额度",
  asked: "平台处理中",
  unknown: "结果不明",
  done: "已退款",
  failed: "未退款",
  won: "拒付已撤销",
};

export function refundText(state: string): string {
  return REFUNDS[state] ?? state;
}

const SOURCES: Readonly<Record<string, string>> = { admin: "退款", elsewhere: "平台退款", dispute: "拒付" };

export function sourceText(source: string): string {
  return SOURCES[source] ?? source;
}

const STATES: Readonly<Record<AdminOrder["status"], { readonly label: string; readonly tone: Tone }>> = {
  created: { label: "待支付", tone: "info" },
  pending: { label: "待支付", tone: "info" },
  paid: { label: "未入账", tone: "bad" },
  credited: { label: "已到账", tone: "good" },
  closed: { label: "已关闭", tone: "idle" },
};

type State = Pick<AdminOrder, "status" | "review" | "refunded_minor" | "paid_minor">;

function labelOf({ status, refunded_minor, paid_minor }: State): string {
  if (status !== "credited" || refunded_minor === 0) return STATES[status].label;
  return refunded_minor < paid_minor ? "部分退款" : "已退款";
}

export function stateOf(order: State): { label: string; tone: Tone; hint: string } {
  const { status, review } = order;
  return {
    label: labelOf(order),
    tone: review === "" ? STATES[status].tone : "warn",
    hint: review === "" ? "" : verdictText(review),
  };
}

const FACTS: Readonly<Record<string, string>> = {
  trade_no: "平台交易号",
  amount_minor: "金额",
  total_minor: "累计退款",
  amount: "金额",
  user_id: "用户",
  refund_no: "退款号",
  provider_id: "平台退款号",
  reason: "原因",
  actor_id: "操作人",
  approver_id: "批准人",
  source: "来源",
  is_done: "结果",
  as: "处理方式",
};

const DECISIONS: Readonly<Record<string, string>> = {
  paid: "按实付金额入账",
  ordered: "按订单金额入账",
  settled: "标记为已处理",
};

function factText(name: string, value: unknown, currency: unknown): string {
  const text = String(value);
  if (name.endsWith("_minor") && typeof value === "number")
    return typeof currency === "string" ? moneyText(value, currency) : minorText(value);
  if (name === "source") return sourceText(text);
  if (name === "actor_id" || name === "approver_id" || name === "user_id") return `#${text}`;
  if (name === "is_done") return value === true ? "已退款" : "未退款";
  return name === "as" ? (DECISIONS[text] ?? text) : text;
}

/** The names and values of a JSON object of facts, as one line; the currency stands with the amount. */
export function factsText(facts: string): string {
  try {
    const known: unknown = JSON.parse(facts);
    if (typeof known !== "object" || known === null) return "";
    const { currency, ...rest }: Record<string, unknown> = { ...known };
    return Object.entries(rest)
      .filter(([, value]) => value !== "" && value !== null)
      .map(([name, value]) => `${FACTS[name] ?? name} ${factText(name, value, currency)}`)
      .join("，");
  } catch {
    return "";
  }
}

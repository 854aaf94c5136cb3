// How statements speak, on pages, in files and on paper. Pure.

const KINDS: Readonly<Record<string, string>> = {
  pay: "在线充值",
  topup: "充值",
  redeem: "兑换码",
  gift: "礼品码赠送",
  invite: "邀请奖励",
  grant: "赠送",
  opening: "导入时的余额",
  consume: "调用消费",
  refund: "退款收回",
  dispute: "拒付",
  debt: "抵扣欠额",
  transfer: "团队转账",
  adjust: "调整",
};

/** A kind of entries in words; one that is not known stays as it is. */
export function kindText(kind: string): string {
  return KINDS[kind] ?? kind;
}

/** `2026-10` → `2026 年 10 月`. */
export function monthText(month: string): string {
  const [year = "", number = ""] = month.split("-");
  return `${year} 年 ${Number(number)} 月`;
}

/** The token of a row of usage; those without a name by their number. */
export function tokenText(row: { readonly token_id: number; readonly token_name: string }): string {
  if (row.token_id === 0) return "不经令牌";
  return row.token_name === "" ? `#${row.token_id}` : row.token_name;
}

/** What an amount of usage is of: a tag, or all tokens that have none. */
export function tagText({ tag }: { readonly tag: string }): string {
  return tag === "" ? "无标签" : tag;
}

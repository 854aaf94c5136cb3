// The file of a statement that spreadsheets open.
import { csvText } from "#console/base/download.ts";
import { formatTime } from "#console/base/format.ts";
import { moneyText } from "#contract/money.ts";
import type { Statement } from "#contract/statement.ts";
import { kindText, tokenText } from "#contract/statement-words.ts";

/** The statement as a CSV file: one table, amounts in quota units, so that 期初 and the rows of 额度 add up to 期末 exactly. */
export function statementCsv(statement: Statement): string {
  const { number, month, opening, closing, sums, usage, tokens, payments } = statement;
  const state = number === "" ? `未结账，截至 ${formatTime(statement.created_at)}` : number;
  const rest = ["", "", "", ""];
  return csvText([
    [
      "类别",
      "项目",
      "令牌",
      "标签",
      "模型",
      "笔数",
      "额度（点）",
      "套餐额度（点）",
      "少收（点）",
      "提示",
      "补全",
    ],
    ["账单", state, statement.account_name, "", month, "", "", ...rest],
    ["额度", "期初", "", "", "", "", opening, ...rest],
    ...sums.map(({ kind, entries, quota }) => ["额度", kindText(kind), "", "", "", entries, quota, ...rest]),
    ["额度", "期末", "", "", "", "", closing, ...rest],
    ...payments.map((row) => [
      "收款",
      `${row.name} 实收 ${moneyText(row.paid_minor, row.currency)} 退款 ${moneyText(row.refunded_minor, row.currency)}`,
      ...["", "", "", "", ""],
      ...rest,
    ]),
    ...usage.map((row) => [
      "用量",
      "调用",
      tokenText(row),
      row.tags,
      row.model_name,
      row.calls,
      row.quota,
      row.plan_quota,
      row.shortfall,
      "",
      "",
    ]),
    ...tokens.map((row) => [
      "用量",
      "Token",
      ...["", ""],
      row.model_name,
      ...["", "", "", ""],
      row.prompt_tokens,
      row.completion_tokens,
    ]),
  ]);
}

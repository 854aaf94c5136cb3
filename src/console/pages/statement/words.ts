// The file of a statement that spreadsheets open.
import { type CsvValue, csvText } from "#contract/csv.ts";
import { profileFacts } from "#contract/invoice-words.ts";
import { minorText } from "#contract/money.ts";
import { beijingTime } from "#contract/month.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Statement, StatementCounts } from "#contract/statement.ts";
import {
  missingInSums,
  missingInUsage,
  moneyOf,
  sumUsage,
  type UsageSums,
  usageByTag,
} from "#contract/statement-money.ts";
import { kindText, monthText, tagText, tokenText } from "#contract/statement-words.ts";

/** Column → its title, in their order; those of money are absent where the operator shows none. */
const TITLES = {
  category: "类别",
  item: "项目",
  token: "令牌",
  tag: "标签",
  model: "模型",
  entries: "笔数",
  quota: "额度（点）",
  quotaMoney: "金额（美元）",
  plan: "套餐额度（点）",
  planMoney: "套餐金额（美元）",
  shortfall: "少收（点）",
  shortfallMoney: "少收金额（美元）",
  prompt: "提示",
  cached: "其中缓存",
  completion: "补全",
  currency: "币种",
  paid: "实收",
  refunded: "退款与拒付",
} as const;
type Column = keyof typeof TITLES;
type Line = Partial<Record<Column, CsvValue>>;

// The keys of TITLES are exactly its columns.
const COLUMNS = Object.keys(TITLES) as Column[];

/**
 * The statement as a CSV file: one table. In quota units 期初 and the rows of 额度 add up to 期末 exactly; in money they do with the line of
 * what rounding left.
 */
export function statementCsv(statement: Statement, display: QuotaDisplay): string {
  const money = moneyOf(statement, display);
  const columns = COLUMNS.filter((name) => money !== undefined || !name.endsWith("Money"));
  const lines = [...factLines(statement), ...linesOf(statement, new Amounts(money))];
  return csvText([
    columns.map((name) => TITLES[name]),
    ...lines.map((line) => columns.map((name) => line[name] ?? "")),
  ]);
}

/** The cells of amounts, in units and in money. */
class Amounts {
  readonly money: ReturnType<typeof moneyOf>;

  constructor(money: ReturnType<typeof moneyOf>) {
    this.money = money;
  }

  /** Of money that no quota stands for. */
  decimal(amount: bigint): CsvValue {
    return { decimal: this.money?.decimal(amount) ?? "" };
  }

  quota(quota: number): Line {
    return { quota, quotaMoney: this.#of(quota) };
  }

  usage({ calls, quota, plan_quota: plan, shortfall, tokens }: UsageSums): Line {
    const more = { plan, planMoney: this.#of(plan), shortfall, shortfallMoney: this.#of(shortfall) };
    return { entries: calls, ...this.quota(quota), ...more, ...(tokens && tokenCells(tokens)) };
  }

  #of(quota: number): CsvValue {
    return this.money === undefined ? "" : this.decimal(this.money.of(quota));
  }
}

function tokenCells({ prompt_tokens, cached_tokens, completion_tokens }: StatementCounts): Line {
  return { prompt: prompt_tokens, cached: cached_tokens, completion: completion_tokens };
}

/** What a statement is of. */
function factLines(statement: Statement): readonly Line[] {
  const { number, account_name, month, created_at, from_row, to_row, trail_hash, buyer } = statement;
  const state = number === "" ? `未结账，截至 ${beijingTime(created_at)}（北京时间）` : number;
  const fact = (category: string, item: string, token: string): Line => ({ category, item, token });
  return [
    { ...fact("账单", state, account_name), model: monthText(month) },
    fact("账单", "账本记录", `#${from_row} 之后，至 #${to_row}`),
    ...(trail_hash === "" ? [] : [fact("账单", "审计链", trail_hash)]),
    ...(buyer === null ? [] : profileFacts(buyer)).map(({ label, text }) => fact("发票抬头", label, text)),
  ];
}

function linesOf(statement: Statement, amounts: Amounts): readonly Line[] {
  const { opening, closing, sums, usage, tokens, payments, debt } = statement;
  return [
    { category: "额度", item: "期初", ...amounts.quota(opening) },
    ...sums.map(({ kind, entries, quota }) => ({
      ...{ category: "额度", item: kindText(kind), entries },
      ...amounts.quota(quota),
    })),
    ...roundedSums(statement, amounts),
    { category: "额度", item: "期末", ...amounts.quota(closing) },
    ...(debt === 0 ? [] : [{ category: "额度", item: "欠额", ...amounts.quota(debt) }]),
    ...payments.map(({ name, currency, paid_minor, refunded_minor }) => ({
      ...{ category: "收款", item: name, currency },
      paid: { decimal: minorText(paid_minor) },
      refunded: { decimal: minorText(refunded_minor) },
    })),
    ...usage.map((row) => ({
      ...{ category: "用量", item: "调用", token: tokenText(row), tag: row.tags, model: row.model_name },
      ...amounts.usage(row),
    })),
    ...roundedUsage(statement, amounts),
    ...(usage.length === 0 ? [] : [{ category: "用量", item: "合计", ...amounts.usage(sumUsage(usage)) }]),
    ...usageByTag(usage).map((row) => ({
      ...{ category: "按标签", item: "调用", tag: tagText(row) },
      ...amounts.usage(row),
    })),
    ...tokens.map((row) => ({
      ...{ category: "用量", item: "Token", model: row.model_name },
      ...tokenCells(row),
    })),
  ];
}

const ROUNDED = "四舍五入差";

function roundedSums(statement: Statement, amounts: Amounts): readonly Line[] {
  const missing = amounts.money === undefined ? 0n : missingInSums(amounts.money, statement);
  if (missing === 0n) return [];
  return [{ category: "额度", item: ROUNDED, quotaMoney: amounts.decimal(missing) }];
}

function roundedUsage({ usage }: Statement, amounts: Amounts): readonly Line[] {
  const missing = amounts.money && missingInUsage(amounts.money, usage);
  if (missing === undefined) return [];
  const { quota, plan_quota, shortfall } = missing;
  return [
    {
      ...{ category: "用量", item: ROUNDED, quotaMoney: amounts.decimal(quota) },
      ...{ planMoney: amounts.decimal(plan_quota), shortfallMoney: amounts.decimal(shortfall) },
    },
  ];
}

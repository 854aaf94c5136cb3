// A statement on paper: the same rows as on its page, in the words of its reader's language (requirements Y61). Pure.

import { profileFacts } from "#contract/invoice-words.ts";
import type { Language } from "#contract/language.ts";
import { moneyText } from "#contract/money.ts";
import { beijingTime } from "#contract/month.ts";
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Statement, StatementCounts } from "#contract/statement.ts";
import {
  hasTokens,
  missingInSums,
  missingInUsage,
  moneyOf,
  type StatementMoney,
  sumUsage,
  type TagUsage,
  type UsageSums,
  usageByTag,
} from "#contract/statement-money.ts";
import { kindText, monthText, tagText, tokenText } from "#contract/statement-words.ts";
import { say } from "#server/locale/sentences.ts";
import type { PdfColumn, PdfDocument, PdfTable } from "#server/pdf/document.ts";

export interface PaperStyle {
  readonly display: QuotaDisplay;
  /** The name of the installation. */
  readonly issuer: string;
  readonly language: Language;
}

/** What is printed of a statement. */
export function statementPaper(statement: Statement, style: PaperStyle): PdfDocument {
  const words = new Words(style, moneyOf(statement, style.display));
  const { number, month, created_at } = statement;
  const title = `${words.say("月度账单")} ${words.say(monthText(month))}`;
  return {
    title,
    subtitle: style.issuer,
    facts: factsOf(statement, words),
    tables: [
      sumsOf(statement, words),
      ...paymentsOf(statement, words),
      usageOf(statement, words),
      ...tagsOf(statement, words),
      ...usageTokensOf(statement, words),
      ...tokensOf(statement, words),
    ],
    footer: number === "" ? `${title} · ${words.say("未结账")}` : number,
    language: style.language === "zh" ? "zh-CN" : "en",
    createdSec: created_at,
  };
}

/** Words and numbers of one language. */
class Words {
  readonly #language: Language;
  /** undefined = the operator shows no money. */
  readonly money: StatementMoney | undefined;

  constructor({ language }: Pick<PaperStyle, "language">, money: StatementMoney | undefined) {
    this.#language = language;
    this.money = money;
  }

  /** Begins with a capital: labels and heads share their words with the middle of sentences. */
  say(text: string): string {
    const said = say(text, this.#language);
    return said.slice(0, 1).toUpperCase() + said.slice(1);
  }

  /** 1234567 → `1,234,567`, as both languages write it. */
  count(value: number): string {
    return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
  }

  /** Columns and cells of an amount of quota: in units, which are exact, and in money where the operator shows money. */
  amountColumns(): readonly PdfColumn[] {
    const units = right(this.say("额度（点）"));
    return this.money === undefined ? [units] : [right(this.say("金额")), units];
  }

  amount(quota: number): readonly string[] {
    const units = this.count(quota);
    return this.money === undefined ? [units] : [this.money.textOf(quota), units];
  }

  /** The line of what rounding left; none where there is no money, or it adds up. `before` and `after` = empty cells around the amount. */
  rounded(missing: bigint | undefined, before: number, after = 0): readonly (readonly string[])[] {
    if (this.money === undefined || missing === undefined || missing === 0n) return [];
    const empty = (cells: number) => Array.from({ length: cells }, () => "");
    return [[this.say("四舍五入差"), ...empty(before), this.money.text(missing), "", ...empty(after)]];
  }
}

function right(title: string): PdfColumn {
  return { title, align: "right" };
}

function factsOf(statement: Statement, words: Words): PdfDocument["facts"] {
  const { number, account_name, account_id, is_team, from_row, to_row, trail_hash, created_at } = statement;
  const isClosed = number !== "";
  const time = `${beijingTime(created_at)} ${words.say("（北京时间）").trim()}`;
  return [
    [words.say("账单号"), isClosed ? number : words.say("未结账")],
    [words.say(is_team ? "团队" : "户名"), `${account_name} (#${account_id})`],
    [words.say("账期"), words.say(monthText(statement.month))],
    [words.say(isClosed ? "结账时间" : "截至"), time],
    [
      words.say("账本记录"),
      from_row === to_row ? words.say("无") : words.say(`#${from_row} 之后，至 #${to_row}`),
    ],
    ...(isClosed ? [[words.say("审计链"), trail_hash === "" ? words.say("无") : trail_hash] as const] : []),
    ...(statement.debt > 0 ? [[words.say("欠额"), words.amount(statement.debt).join(" / ")] as const] : []),
    ...buyerFacts(statement, words),
  ];
}

/** Whom invoices are made out to: what the user wrote stands as it was written. */
function buyerFacts({ buyer }: Statement, words: Words): PdfDocument["facts"] {
  if (buyer === null) return [];
  return profileFacts(buyer).map(({ label, text, isWord }) => [
    `${words.say("发票抬头")} · ${words.say(label)}`,
    isWord === true ? words.say(text) : text,
  ]);
}

function sumsOf(statement: Statement, words: Words): PdfTable {
  const { opening, sums, closing } = statement;
  const { money } = words;
  const total = (title: string, quota: number) => [words.say(title), "", ...words.amount(quota)];
  return {
    title: words.say("额度"),
    columns: [{ title: words.say("类别") }, right(words.say("笔数")), ...words.amountColumns()],
    rows: [
      total("期初", opening),
      ...sums.map((row) => [
        words.say(kindText(row.kind)),
        words.count(row.entries),
        ...words.amount(row.quota),
      ]),
      ...words.rounded(money && missingInSums(money, statement), 1),
      total("期末", closing),
    ],
    empty: "",
  };
}

function paymentsOf({ payments }: Statement, words: Words): PdfTable[] {
  if (payments.length === 0) return [];
  const columns = [
    { title: words.say("支付渠道") },
    right(words.say("实收")),
    right(words.say("退款与拒付")),
  ];
  const rows = payments.map(({ name, currency, paid_minor, refunded_minor }) => [
    name,
    moneyText(paid_minor, currency),
    moneyText(refunded_minor, currency),
  ]);
  return [{ title: words.say("收款"), columns, rows, empty: "" }];
}

function usageOf({ usage }: Statement, words: Words): PdfTable {
  const hasTags = usage.some(({ tags }) => tags !== "");
  const more = moreColumns(usage);
  const columns = [
    { title: words.say("令牌") },
    ...(hasTags ? [{ title: words.say("标签") }] : []),
    { title: words.say("模型") },
    ...usageColumns(more, words),
  ];
  const rows = usage.map((row) => [
    tokenCell(row, words),
    ...(hasTags ? [row.tags.replaceAll(",", ", ")] : []),
    row.model_name,
    ...usageCells(row, more, words),
  ]);
  const missing = words.money && missingInUsage(words.money, usage);
  const rounded = words.rounded(missing?.quota, hasTags ? 3 : 2, more.length);
  const sum = [words.say("合计"), ...(hasTags ? [""] : []), "", ...usageCells(sumUsage(usage), more, words)];
  return {
    title: words.say("用量"),
    columns,
    rows: usage.length < 2 ? rows : [...rows, ...rounded, sum],
    empty: words.say("本期没有调用。"),
  };
}

/** What users call their tokens stands as they wrote it. */
function tokenCell(row: Statement["usage"][number], words: Words): string {
  return row.token_id === 0 || row.token_name === "" ? words.say(tokenText(row)) : row.token_name;
}

function tagCell({ tag }: Pick<TagUsage, "tag">, words: Words): string {
  return tag === "" ? words.say(tagText({ tag })) : tag;
}

/** By the tags that tokens have; one of several tags counts in each. */
function tagsOf({ usage }: Statement, words: Words): PdfTable[] {
  const tags = usageByTag(usage);
  if (tags.length === 0) return [];
  const more = moreColumns(usage);
  const rows = tags.map((row) => [tagCell(row, words), ...usageCells(row, more, words)]);
  const columns = [{ title: words.say("标签") }, ...usageColumns(more, words)];
  return [{ title: words.say("按标签"), columns, rows, empty: "" }];
}

const MORE = { plan_quota: "套餐额度（点）", shortfall: "少收（点）" } as const;
type More = readonly (keyof typeof MORE)[];

/** Columns that most months do not need. Units, which add up by themselves. */
function moreColumns(usage: Statement["usage"]): More {
  const names = ["plan_quota", "shortfall"] as const;
  return names.filter((name) => usage.some((row) => row[name] !== 0));
}

function usageColumns(more: More, words: Words): readonly PdfColumn[] {
  return [
    right(words.say("次数")),
    ...words.amountColumns(),
    ...more.map((name) => right(words.say(MORE[name]))),
  ];
}

function usageCells(sums: UsageSums, more: More, words: Words): readonly string[] {
  return [
    words.count(sums.calls),
    ...words.amount(sums.quota),
    ...more.map((name) => words.count(sums[name])),
  ];
}

function countColumns(words: Words): readonly PdfColumn[] {
  return [right(words.say("提示")), right(words.say("其中缓存")), right(words.say("补全"))];
}

function countCells(
  { prompt_tokens, cached_tokens, completion_tokens }: StatementCounts,
  words: Words,
): readonly string[] {
  return [prompt_tokens, cached_tokens, completion_tokens].map((count) => words.count(count));
}

/** The rows of usage once more, by token and by tag: beside their amounts they would not fit. None in a month of which nothing is known. */
function usageTokensOf({ usage }: Statement, words: Words): PdfTable[] {
  if (!hasTokens(usage)) return [];
  const cells = ({ tokens }: UsageSums) =>
    tokens === undefined ? ["—", "—", "—"] : countCells(tokens, words);
  const rows = usage.map((row) => [tokenCell(row, words), row.model_name, ...cells(row)]);
  const sum = [words.say("合计"), "", ...cells(sumUsage(usage))];
  const byToken = {
    ...{ title: words.say("各令牌的 Token"), empty: "" },
    columns: [{ title: words.say("令牌") }, { title: words.say("模型") }, ...countColumns(words)],
    rows: usage.length < 2 ? rows : [...rows, sum],
  };
  const tags = usageByTag(usage).map((row) => [tagCell(row, words), ...cells(row)]);
  if (tags.length === 0) return [byToken];
  const columns = [{ title: words.say("标签") }, ...countColumns(words)];
  return [byToken, { title: words.say("各标签的 Token"), columns, rows: tags, empty: "" }];
}

function tokensOf({ tokens }: Statement, words: Words): PdfTable[] {
  if (tokens.length === 0) return [];
  const columns = [{ title: words.say("模型") }, ...countColumns(words)];
  const rows = tokens.map((row) => [row.model_name, ...countCells(row, words)]);
  return [{ title: words.say("各模型的 Token"), columns, rows, empty: "" }];
}

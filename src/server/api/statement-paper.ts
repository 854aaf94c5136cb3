// A statement on paper: the same rows as on its page, in the words of its reader's language (requirements Y61). Pure.
import type { Language } from "#contract/language.ts";
import { moneyText } from "#contract/money.ts";
import { formatQuota, type QuotaDisplay } from "#contract/quota.ts";
import type { Statement } from "#contract/statement.ts";
import { kindText, monthText, tokenText } from "#contract/statement-words.ts";
import { say } from "#server/locale/sentences.ts";
import type { PdfColumn, PdfDocument, PdfTable } from "#server/pdf/document.ts";

const BEIJING_MS = 8 * 3_600_000;
/** A unit of quota is two millionths of a dollar, unless the operator says otherwise. */
const DIGITS = 6;

export interface PaperStyle {
  readonly display: QuotaDisplay;
  /** The name of the installation. */
  readonly issuer: string;
  readonly language: Language;
}

/** What is printed of a statement. */
export function statementPaper(statement: Statement, style: PaperStyle): PdfDocument {
  const words = new Words(style);
  const { number, month, created_at } = statement;
  const title = `${words.say("月度账单")} ${words.say(monthText(month))}`;
  return {
    title,
    subtitle: style.issuer,
    facts: factsOf(statement, words),
    tables: [
      sumsOf(statement, words),
      ...moneyOf(statement, words),
      usageOf(statement, words),
      ...tokensOf(statement, words),
    ],
    footer: number === "" ? `${title} · ${words.say("未结账")}` : number,
    language: style.language === "zh" ? "zh-CN" : "en",
    createdSec: created_at,
  };
}

/** Words and numbers of one language. */
class Words {
  readonly #style: PaperStyle;

  constructor(style: PaperStyle) {
    this.#style = style;
  }

  /** Begins with a capital: labels and heads share their words with the middle of sentences. */
  say(text: string): string {
    const said = say(text, this.#style.language);
    return said.slice(0, 1).toUpperCase() + said.slice(1);
  }

  /** 1234567 → `1,234,567`, as both languages write it. */
  count(value: number): string {
    return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
  }

  /** Columns and cells of an amount of quota: in units, which are exact, and in money where the operator shows money. */
  amountColumns(): readonly PdfColumn[] {
    const units = right(this.say("额度（点）"));
    return this.#style.display.inCurrency ? [right(this.say("金额")), units] : [units];
  }

  amount(quota: number): readonly string[] {
    const { display } = this.#style;
    const units = this.count(quota);
    return display.inCurrency ? [formatQuota(quota, display, DIGITS), units] : [units];
  }
}

function right(title: string): PdfColumn {
  return { title, align: "right" };
}

/** `2026-11-01 01:00:00`, as the calendar of statements has it. */
function beijingTime(seconds: number): string {
  return new Date(seconds * 1_000 + BEIJING_MS).toISOString().slice(0, 19).replace("T", " ");
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
  ];
}

function sumsOf({ opening, sums, closing }: Statement, words: Words): PdfTable {
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
      total("期末", closing),
    ],
    empty: "",
  };
}

function moneyOf({ payments }: Statement, words: Words): PdfTable[] {
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
  const [hasTags, hasPlans] = [
    usage.some(({ tags }) => tags !== ""),
    usage.some((row) => row.plan_quota !== 0),
  ];
  const hasShortfall = usage.some(({ shortfall }) => shortfall !== 0);
  const columns = [
    { title: words.say("令牌") },
    ...(hasTags ? [{ title: words.say("标签") }] : []),
    { title: words.say("模型") },
    right(words.say("次数")),
    ...words.amountColumns(),
    ...(hasPlans ? [right(words.say("套餐额度（点）"))] : []),
    ...(hasShortfall ? [right(words.say("少收（点）"))] : []),
  ];
  const rows = usage.map((row) => [
    row.token_id === 0 || row.token_name === "" ? words.say(tokenText(row)) : row.token_name,
    ...(hasTags ? [row.tags.replaceAll(",", ", ")] : []),
    row.model_name,
    words.count(row.calls),
    ...words.amount(row.quota),
    ...(hasPlans ? [words.count(row.plan_quota)] : []),
    ...(hasShortfall ? [words.count(row.shortfall)] : []),
  ]);
  return { title: words.say("用量"), columns, rows, empty: words.say("本期没有调用。") };
}

function tokensOf({ tokens }: Statement, words: Words): PdfTable[] {
  if (tokens.length === 0) return [];
  const columns = [{ title: words.say("模型") }, right(words.say("提示")), right(words.say("补全"))];
  const rows = tokens.map((row) => [
    row.model_name,
    words.count(row.prompt_tokens),
    words.count(row.completion_tokens),
  ]);
  return [{ title: words.say("各模型的 Token"), columns, rows, empty: "" }];
}

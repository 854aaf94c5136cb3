// Invoices (发票) of money that was paid: whom they are made out to, what was asked for, what administrators issued. Data only: the invoice itself
// is made in the operator's tax program. Amounts are text with two decimals.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { CURRENCIES, minorOf } from "./money.ts";
import { isOneLine } from "./name.ts";
import { IdParams, ListBeside, ListQuery, Nothing, query, rowsOf } from "./wire.ts";

export const BUYERS = ["company", "person"] as const;
export type Buyer = (typeof BUYERS)[number];

/** `special` (专票) needs everything about the buyer. */
export const INVOICE_KINDS = ["normal", "special"] as const;
export type InvoiceKind = (typeof INVOICE_KINDS)[number];

export const INVOICE_STATES = ["requested", "issued", "refused", "cancelled", "reversed"] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

function line(longest: number) {
  return z.string().trim().max(longest, `最多 ${longest} 个字符`).refine(isOneLine, "不能换行");
}

const TAX_NUMBER = /^([0-9A-Z]{15}|[0-9A-Z]{17}|[0-9A-Z]{18}|[0-9A-Z]{20})$/;

/** Whom an invoice is made out to. */
export const InvoiceProfile = z.object({
  buyer: z.enum(BUYERS),
  kind: z.enum(INVOICE_KINDS),
  title: line(100).pipe(z.string().min(1, "请填写抬头")),
  tax_number: line(20)
    .toUpperCase()
    .refine((text) => text === "" || TAX_NUMBER.test(text), "税号应为 15、17、18 或 20 位数字或字母"),
  address: line(200),
  telephone: line(40),
  bank_name: line(100),
  bank_account: line(50),
  /** Where the file is sent to; "" = it is fetched here. */
  mail: line(200).refine((text) => text === "" || /^[^\s@]+@[^\s@]+$/.test(text), "邮箱格式有误"),
});
export type InvoiceProfile = z.output<typeof InvoiceProfile>;

/** Why a profile is not enough for its kind of invoice; undefined = it is. Pure. */
export function profileFault(
  profile: InvoiceProfile,
): { readonly field: keyof InvoiceProfile; readonly message: string } | undefined {
  const { buyer, kind } = profile;
  if (buyer === "person" && kind === "special") return { field: "kind", message: "个人只能开具普通发票" };
  if (buyer === "company" && profile.tax_number === "")
    return { field: "tax_number", message: "企业须填写税号" };
  if (kind === "normal") return undefined;
  const needed = ["address", "telephone", "bank_name", "bank_account"] as const;
  const field = needed.find((name) => profile[name] === "");
  return field && { field, message: "专用发票须填写地址、电话、开户行与账号" };
}

/** Digits and letters of the code of a company, in the order of their values (GB 32100). */
const CODE_LETTERS = "0123456789ABCDEFGHJKLMNPQRTUWXY";

/** Whether a tax number of 18 characters ends with the digit that the others ask for; other lengths have none. Pure. */
export function hasRightCheckDigit(taxNumber: string): boolean {
  if (taxNumber.length !== 18) return true;
  let sum = 0;
  let weight = 1;
  for (const letter of taxNumber.slice(0, 17)) {
    const value = CODE_LETTERS.indexOf(letter);
    if (value < 0) return false;
    sum += value * weight;
    weight = (weight * 3) % 31;
  }
  return CODE_LETTERS[(31 - (sum % 31)) % 31] === taxNumber[17];
}

const Amount = z
  .string()
  .trim()
  .refine((text) => (minorOf(text) ?? 0) > 0, "金额应大于 0，最多两位小数");

export const Invoice = z.object({
  id: z.int(),
  user_id: z.int(),
  username: z.string(),
  currency: z.enum(CURRENCIES),
  amount: z.string(),
  profile: InvoiceProfile,
  state: z.enum(INVOICE_STATES),
  /** It is issued, and so much was refunded since that it has to be reversed (红冲). */
  must_reverse: z.boolean(),
  /** Of the invoice, as the tax program gave it; "" = not issued. */
  number: z.string(),
  /** Where its file is; "" = it is sent otherwise. */
  link: z.string(),
  /** What the administrator says: why it was refused, how it is sent, the number of the reversing invoice. */
  note: z.string(),
  created_at: z.int(),
  /** Seconds; 0 = not decided. */
  decided_at: z.int(),
});
export type Invoice = z.output<typeof Invoice>;

/** What was paid in a currency, and what of it may be invoiced now. */
export const InvoiceSums = z.object({
  currency: z.enum(CURRENCIES),
  paid: z.string(),
  /** Refunds and disputes. */
  refunded: z.string(),
  /** Asked for or issued, and not reversed. */
  invoiced: z.string(),
  available: z.string(),
});
export type InvoiceSums = z.output<typeof InvoiceSums>;

export const InvoiceDesk = z.object({
  /** The one that was used or saved last; its title is "" when there is none. */
  profile: InvoiceProfile.extend({ title: z.string() }),
  sums: rowsOf(InvoiceSums),
  /** The newest. */
  rows: rowsOf(Invoice),
});
export type InvoiceDesk = z.output<typeof InvoiceDesk>;

export const InvoiceWish = z.object({
  /** 0 = of one's own payments. */
  team_id: z.int().min(0).default(0),
  currency: z.enum(CURRENCIES),
  amount: Amount,
  profile: InvoiceProfile.superRefine((profile, context) => {
    const fault = profileFault(profile);
    if (fault) context.addIssue({ code: "custom", path: [fault.field], message: fault.message });
  }),
});
export type InvoiceWish = z.output<typeof InvoiceWish>;

const Issued = z.object({
  number: line(40).pipe(z.string().min(1, "请填写发票号码")),
  link: line(500).refine(
    (text) => text === "" || /^https?:\/\/[^/]/.test(text),
    "链接须以 http:// 或 https:// 开头",
  ),
  note: line(200),
});
const Reason = line(200).pipe(z.string().min(1, "请填写说明"));

export const invoiceApi = {
  desk: endpoint({
    method: "GET",
    path: "/api/invoice/",
    level: "user",
    summary:
      "我的发票：各币种可开金额（实付 − 退款 − 已申请与已开）、开票信息与最近的申请；带 team_id 时为该团队的",
    query: z.object({ team_id: query.count }),
    data: InvoiceDesk,
  }),
  ask: endpoint({
    method: "POST",
    path: "/api/invoice/",
    level: "user",
    summary: "申请开票，金额不超过可开金额；开票信息随申请保存。team_id 为团队时开的是团队付款的发票",
    body: InvoiceWish,
    data: Invoice,
  }),
  cancel: endpoint({
    method: "POST",
    path: "/api/invoice/:id/cancel",
    level: "user",
    summary: "撤回还没有开具的申请",
    params: IdParams,
    data: Nothing,
  }),
  list: endpoint({
    method: "GET",
    path: "/api/invoice_queue/",
    level: "admin",
    permission: "money.read",
    summary:
      "所有发票申请，新的在前；open=true 只列待开具与待红冲的，先申请的在前；state 与 user_id 缩小范围",
    query: ListQuery.extend({ open: query.flag, state: query.text, user_id: query.count }),
    data: rowsOf(Invoice),
    beside: ListBeside,
  }),
  issue: endpoint({
    method: "POST",
    path: "/api/invoice_queue/:id/issue",
    level: "admin",
    permission: "money.adjust",
    summary: "登记已开具：发票号码、文件链接与说明，用户可见；此后的退款超出其余实付时须红冲",
    params: IdParams,
    body: Issued,
    data: Nothing,
  }),
  refuse: endpoint({
    method: "POST",
    path: "/api/invoice_queue/:id/refuse",
    level: "admin",
    permission: "money.adjust",
    summary: "驳回申请，note 为原因，用户可见",
    params: IdParams,
    body: z.object({ note: Reason }),
    data: Nothing,
  }),
  reverse: endpoint({
    method: "POST",
    path: "/api/invoice_queue/:id/reverse",
    level: "admin",
    permission: "money.adjust",
    summary: "登记已红冲，note 为红字发票号码等；其金额可以重新申请",
    params: IdParams,
    body: z.object({ note: Reason }),
    data: Nothing,
  }),
};

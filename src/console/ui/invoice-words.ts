// How invoices speak, on both sides.
import type { Buyer, Invoice, InvoiceKind, InvoiceProfile, InvoiceState } from "#contract/invoice.ts";
import type { Tone } from "./status-tag.tsx";

export const BUYER_LABELS: Readonly<Record<Buyer, string>> = { company: "企业", person: "个人" };

export const KIND_LABELS: Readonly<Record<InvoiceKind, string>> = {
  normal: "普通发票",
  special: "专用发票",
};

const STATES: Readonly<Record<InvoiceState, { readonly label: string; readonly tone: Tone }>> = {
  requested: { label: "待开具", tone: "info" },
  issued: { label: "已开具", tone: "good" },
  refused: { label: "已驳回", tone: "bad" },
  cancelled: { label: "已撤回", tone: "idle" },
  reversed: { label: "已红冲", tone: "idle" },
};

export function stateOf({ state, must_reverse }: Pick<Invoice, "state" | "must_reverse">) {
  return must_reverse ? ({ label: "待红冲", tone: "warn" } as const) : STATES[state];
}

/** Label and value of all that is said of a buyer. */
export function profileFacts(profile: InvoiceProfile): readonly (readonly [string, string])[] {
  const facts: [string, string][] = [
    ["类型", `${BUYER_LABELS[profile.buyer]}，${KIND_LABELS[profile.kind]}`],
    ["抬头", profile.title],
    ["税号", profile.tax_number],
    ["地址", profile.address],
    ["电话", profile.telephone],
    ["开户行", profile.bank_name],
    ["银行账号", profile.bank_account],
    ["接收邮箱", profile.mail],
  ];
  return facts.filter(([, value]) => value !== "");
}

// How invoices speak of whom they are made out to: on pages, in files and on paper. Pure.
import type { Buyer, InvoiceKind, InvoiceProfile } from "./invoice.ts";

export const BUYER_LABELS: Readonly<Record<Buyer, string>> = { company: "企业", person: "个人" };

export const KIND_LABELS: Readonly<Record<InvoiceKind, string>> = {
  normal: "普通发票",
  special: "专用发票",
};

interface ProfileFact {
  readonly label: string;
  readonly text: string;
  /** The text is ours, not the user's, and has another one in another language. */
  readonly isWord?: true;
}

/** Label and text of all that is said of a buyer. */
export function profileFacts(profile: InvoiceProfile): readonly ProfileFact[] {
  const facts: ProfileFact[] = [
    { label: "抬头", text: profile.title },
    { label: "类型", text: BUYER_LABELS[profile.buyer], isWord: true },
    { label: "种类", text: KIND_LABELS[profile.kind], isWord: true },
    { label: "税号", text: profile.tax_number },
    { label: "地址", text: profile.address },
    { label: "电话", text: profile.telephone },
    { label: "开户行", text: profile.bank_name },
    { label: "银行账号", text: profile.bank_account },
    { label: "接收邮箱", text: profile.mail },
  ];
  return facts.filter(({ text }) => text !== "");
}

// The states of invoices, on both sides.
import type { Invoice, InvoiceState } from "#contract/invoice.ts";
import type { Tone } from "./status-tag.tsx";

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

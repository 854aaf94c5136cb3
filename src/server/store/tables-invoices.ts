// The tables of invoices; see tables.ts.
import type { Generated } from "kysely";
import type { InvoiceState } from "#contract/invoice.ts";

/** What a user asked an invoice for (requirements Y62). */
export interface InvoicesTable {
  id: Generated<number>;
  user_id: number;
  currency: string;
  amount_minor: number;
  /** As it was asked for; JSON, sealed; "" = the account was deleted before it was issued. */
  profile_sealed: string;
  state: InvoiceState;
  number: string;
  link: string;
  note: string;
  /** The administrator who decided; 0 = none yet, or its user cancelled it. */
  actor_id: number;
  created_at: number;
  decided_at: number;
  /** Since when it has to be reversed; 0 = it has not. */
  reverse_asked_at: number;
}

/** Whom a user's next invoice is made out to. */
export interface InvoiceProfilesTable {
  user_id: number;
  profile_sealed: string;
  updated_at: number;
}

export interface InvoiceTables {
  invoices: InvoicesTable;
  invoice_profiles: InvoiceProfilesTable;
}

// What is shown of an account at a bank, or of one that money is sent to, to who need not know all of it.
import type { InvoiceProfile } from "#contract/invoice.ts";
import type { Actor } from "#server/accounts/actors.ts";

/** Enough to know it by. Pure. */
export function masked(text: string): string {
  const letters = [...text];
  if (letters.length <= 4) return `${letters[0] ?? ""}${letters.length > 1 ? "**" : ""}`;
  return `${letters.slice(0, 3).join("")}****${letters.slice(-2).join("")}`;
}

/** As its owner sees it: who only looks at his console sees no whole bank account (requirements Z24). Pure. */
export function profileFor(
  { viewer }: { readonly viewer?: Actor["viewer"] | undefined },
  profile: InvoiceProfile,
): InvoiceProfile {
  return viewer === undefined ? profile : { ...profile, bank_account: masked(profile.bank_account) };
}

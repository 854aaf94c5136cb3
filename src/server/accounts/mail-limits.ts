// How often visitors may cause mail. Counted before anything is looked up, so that the answer says nothing about the address.
import { LIMITS } from "#server/limits/table.ts";
import { mailboxOf } from "#server/store/mailbox.ts";
import type { Tools } from "#server/tools.ts";

/** Counts a letter to the mailbox of `email` that a client at `address` asks for. Throws: 429. */
export function limitMail(
  { limits, secrets }: Pick<Tools, "limits" | "secrets">,
  email: string,
  address: string,
): Promise<void> {
  const mailbox = secrets.hash(`mail ${mailboxOf(email)}`);
  const countings = [
    { limit: LIMITS.mailNetwork, subject: address },
    { limit: LIMITS.mailAgain, subject: mailbox },
    { limit: LIMITS.mailMailbox, subject: mailbox },
    { limit: LIMITS.mailServer, subject: "" },
  ];
  return limits.count(countings, address);
}

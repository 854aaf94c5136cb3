// Which addresses lead to one mailbox. An account's address stays as its owner gave it; only what must be one of a kind is told here.

/**
 * The mailbox of an address in lower case, which is the address without the tag that its owner is free to make up:
 * `wang+shop@example.com` is `wang@example.com` (requirements M25).
 */
export function mailboxOf(email: string): string {
  return email.replace(/^([^+@]+)\+[^@]*@/, "$1@");
}

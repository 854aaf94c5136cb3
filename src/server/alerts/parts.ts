// What alerts work with. Types only.
import type { Language } from "#contract/language.ts";
import type { MailResult } from "#server/egress/mail.ts";
import type { Tools } from "#server/tools.ts";

export type AlertTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "coord" | "options" | "egress" | "events" | "config"
> & {
  /** One try of a letter; undefined = no mail server is set up. `;` separates addresses. */
  mail(to: string, letter: AlertLetter): Promise<MailResult | undefined>;
};

export interface AlertLetter {
  readonly title: string;
  readonly content: string;
  /** Of the target. */
  readonly language: Language;
}

/** What the queue works with. */
export type AlertParts = AlertTools & Pick<Tools, "stopping">;

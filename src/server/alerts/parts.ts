// What alerts work with. Types only.
import type { MailResult } from "#server/egress/mail.ts";
import type { Tools } from "#server/tools.ts";

export type AlertTools = Pick<
  Tools,
  "db" | "clock" | "secrets" | "coord" | "options" | "egress" | "events" | "config"
> & {
  /** One try of a letter; undefined = no mail server is set up. `;` separates addresses. */
  mail(
    to: string,
    letter: { readonly title: string; readonly content: string },
  ): Promise<MailResult | undefined>;
};

/** What the queue works with. */
export type AlertParts = AlertTools & Pick<Tools, "stopping">;

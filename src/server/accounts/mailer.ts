// Sends letters: a bounded queue in memory, few connections at once, later tries after a temporary failure. A user asks again for a
// letter that is lost with the process; so nothing here is stored on disk.
import type { Language } from "#contract/language.ts";
import { type Letter, type MailResult, sendMail } from "#server/egress/mail.ts";
import { LIMITS } from "#server/limits/table.ts";
import { randomId } from "#server/secrets.ts";
import { mailboxOf } from "#server/store/mailbox.ts";
import { findLanguageOf } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { inLanguage, type LetterText } from "./letters.ts";

/** ServerAddress, or this machine while none is set (requirements W6.2). Without a trailing slash. */
export function siteUrl({ options, config }: Pick<Tools, "options" | "config">): string {
  return options.get("ServerAddress") || `http://localhost:${config.port}`;
}

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

/** `queued` = it waits for its first try, or that one failed and others follow. */
export type Posted = "sent" | "queued" | "failed";

export interface Mailer {
  /** Whether a mail server is set up. */
  isReady(): boolean;
  /**
   * Sends a letter in the language that the account of the address chose, else in `language`; resolves after the first try, or at once
   * while many others wait. `;` separates several addresses. Never throws.
   */
  post(to: string, text: LetterText, language?: Language): Promise<Posted>;
  /** One try, without later ones, in the language that the operator set for it. Never throws. */
  once(to: string, text: LetterText, language: Language): Promise<MailResult>;
  /** Resolves when no letter is being sent; letters that wait for another try do not count. */
  idle(): Promise<void>;
  /** Drops waiting letters, and finishes those that are being sent. */
  close(): Promise<void>;
}

export type MailerTools = Pick<Tools, "db" | "options" | "egress" | "events" | "clock">;

/** The one port where TLS begins with the first byte (requirements W4.7). */
const TLS_PORT = 465;
const MAX_WAITING = 1_000;
const CONNECTIONS = 4;
/** Later tries, after the first. Unit: ms. */
const RETRY_MS = [5_000, 30_000, 120_000];

export function createMailer(tools: MailerTools): Mailer {
  const running = new Set<Promise<unknown>>();
  const retries = new Set<NodeJS.Timeout>();
  const turns: (() => void)[] = [];
  let connections = 0;

  async function inTurn(work: () => Promise<MailResult>): Promise<MailResult> {
    if (connections >= CONNECTIONS) await new Promise<void>((resolve) => turns.push(resolve));
    else connections += 1;
    try {
      return await work();
    } finally {
      // A waiting letter takes the slot over; else it becomes free.
      const next = turns.shift();
      if (next) next();
      else connections -= 1;
    }
  }

  /** One try of a letter; schedules the next when this one fails. */
  async function attempt(letter: Promise<Letter>, tries: number): Promise<Posted> {
    const result = await inTurn(async () => sendMail(tools.egress, serverOf(tools), await letter));
    if (result.isSent) {
      tools.events.mailDone({ outcome: "sent", problem: "" });
      return "sent";
    }
    const delayMs = RETRY_MS[tries];
    const willRetry = result.mayRetry && delayMs !== undefined && retries.size < MAX_WAITING;
    tools.events.mailDone({ outcome: willRetry ? "queued" : "failed", problem: result.problem });
    if (!willRetry) return "failed";
    const timer = setTimeout(() => {
      retries.delete(timer);
      void track(attempt(letter, tries + 1));
    }, delayMs).unref();
    retries.add(timer);
    return "queued";
  }

  async function written(to: string, text: LetterText, language?: Language): Promise<Letter> {
    // A database in trouble keeps no letter back.
    const chosen = await findLanguageOf(tools.db, to.toLowerCase()).catch(() => undefined);
    return letterOf(tools, to, inLanguage(text, chosen ?? language ?? "zh"));
  }

  function track<T>(work: Promise<T>): Promise<T> {
    running.add(work);
    const done = () => running.delete(work);
    work.then(done, done);
    return work;
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running);
  }

  return {
    isReady: () => tools.options.get("SMTPServer") !== "" && senderOf(tools) !== "",
    async post(to, text, language) {
      if (turns.length >= MAX_WAITING) {
        tools.events.mailDone({ outcome: "failed", problem: "queue full" });
        return "failed";
      }
      const isBusy = turns.length >= CONNECTIONS;
      const first = track(attempt(written(to, text, language), 0));
      return isBusy ? "queued" : first;
    },
    once: (to, text, language) =>
      track(
        inTurn(() =>
          sendMail(tools.egress, serverOf(tools), letterOf(tools, to, inLanguage(text, language))),
        ),
      ),
    idle,
    async close() {
      for (const timer of retries) clearTimeout(timer);
      retries.clear();
      await idle();
    },
  };
}

function serverOf({ options }: MailerTools) {
  return {
    host: options.get("SMTPServer"),
    port: options.get("SMTPPort"),
    isTls: options.get("SMTPPort") === TLS_PORT,
    account: options.get("SMTPAccount"),
    password: options.get("SMTPToken"),
  };
}

/** The address that letters come from: SMTPFrom, or the account when none is set; `Name <address>` counts as the address. */
function senderOf({ options }: MailerTools): string {
  const text = options.get("SMTPFrom") || options.get("SMTPAccount");
  return (/<([^<>]*)>\s*$/.exec(text)?.[1] ?? text).trim();
}

function letterOf(
  tools: MailerTools,
  to: string,
  text: { readonly subject: string; readonly html: string },
): Letter {
  const sender = senderOf(tools);
  const domain = sender.split("@").at(-1) || "localhost";
  return {
    ...text,
    from: { name: tools.options.get("SystemName"), address: sender },
    to: to
      .split(";")
      .map((address) => address.trim())
      .filter((address) => address !== ""),
    messageId: `${randomId(18)}@${domain}`,
    sentMs: tools.clock.now(),
  };
}

// Letters that tell the owner what happened to the account's security: a new browser, a factor, a recovery code. In the background;
// an account without an address, or a server without mail, sends none.
import { LIMITS } from "#server/limits/table.ts";
import { getUser, type UserRow } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { describeAgent } from "./agent.ts";
import { securityLetter } from "./letters.ts";
import type { Mailer } from "./mailer.ts";
import { siteUrl } from "./mailer.ts";

export interface SecurityLetters {
  /** At most one letter in ten minutes for an account (requirements I37). Never throws. */
  tellNewBrowser(user: UserRow, login: { address: string; agent: string }): Promise<void>;
  /** `what` is a Chinese sentence without its full stop. Never throws. */
  tell(userId: number, what: string): Promise<void>;
  /** Resolves when every letter is on its way. */
  idle(): Promise<void>;
}

type LetterTools = Pick<Tools, "db" | "options" | "config" | "limits" | "clock" | "events"> & {
  readonly mailer: Mailer;
};

export function createSecurityLetters(tools: LetterTools): SecurityLetters {
  const running = new Set<Promise<unknown>>();

  function inBackground(task: string, work: () => Promise<unknown>): void {
    const run = work().catch((error: unknown) => tools.events.backgroundFailed({ task, error }));
    running.add(run);
    void run.then(() => running.delete(run));
  }

  function post({ email, username }: UserRow, what: string, lines: readonly string[]): void {
    if (email === "" || !tools.mailer.isReady()) return;
    const letter = securityLetter(tools.options.get("SystemName"), {
      username,
      what,
      lines: [
        `时间：${new Date(tools.clock.now()).toISOString().replace("T", " ").slice(0, 19)} (UTC)`,
        ...lines,
      ],
      url: `${siteUrl(tools)}/setting?tab=security`,
    });
    inBackground("security letter", () => tools.mailer.post(email, letter));
  }

  return {
    async tellNewBrowser(user, { address, agent }) {
      if (user.email === "" || !tools.mailer.isReady()) return;
      const subject = String(user.id);
      const { allowed } = await tools.limits.check({ limit: LIMITS.deviceLetter, subject }, address);
      if (allowed)
        post(user, "在一个新的浏览器上登录", [`地址：${address}`, `浏览器：${describeAgent(agent)}`]);
    },
    async tell(userId, what) {
      inBackground("security letter", async () => post(await getUser(tools.db, userId), what, []));
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

// Notices to the super administrator: through the message pusher when there is one, else by mail to the first one that has an
// address (requirements W4.8). A notice that cannot be sent is in the diagnostic log all the same.
import { alertEventRow } from "#contract/alert-events.ts";
import { Role, UserStatus } from "#contract/user.ts";
import { pushMessage } from "#server/egress/pusher.ts";
import { findMailableUser } from "#server/store/users.ts";
import type { Notice, Tools } from "#server/tools.ts";
import { noticeLetter } from "./letters.ts";
import { type Mailer, siteUrl } from "./mailer.ts";

export interface Notices {
  /** Sends a notice that concerns him in the background and returns at once; never throws. */
  notify(notice: Notice): void;
  /** Resolves when every notice is sent or given up. */
  idle(): Promise<void>;
}

export type NoticeTools = Pick<Tools, "options" | "egress" | "config" | "db" | "events"> & {
  readonly mailer: Mailer;
};

/** More notices at once would say nothing new. */
const MAX_RUNNING = 20;

export function createNotices(tools: NoticeTools): Notices {
  const running = new Set<Promise<unknown>>();
  return {
    notify(notice) {
      if (alertEventRow(notice.event).isForRoot !== true || notice.isOver === true) return;
      tools.events.rootNotified(notice);
      if (running.size >= MAX_RUNNING) return;
      const work = deliver(tools, notice).catch((error: unknown) =>
        tools.events.backgroundFailed({ task: "notice", error }),
      );
      running.add(work);
      void work.then(() => running.delete(work));
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

async function deliver(tools: NoticeTools, notice: Notice): Promise<void> {
  const { options } = tools;
  const url = options.get("MessagePusherAddress");
  if (url !== "") {
    const pusher = { url, token: options.get("MessagePusherToken") };
    const problem = await pushMessage(tools.egress, pusher, {
      title: notice.title,
      content: notice.content,
      link: siteUrl(tools),
    });
    if (problem === undefined) return;
    tools.events.externalFailed({ service: "pusher", ...problem });
  }
  if (!tools.mailer.isReady()) return;
  const root = await findMailableUser(tools.db, Role.root, UserStatus.enabled);
  if (root) await tools.mailer.post(root.email, noticeLetter(options.get("SystemName"), notice));
}

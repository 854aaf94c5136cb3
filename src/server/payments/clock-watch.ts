// The system clock beside those of the providers: signatures have a time, and Stripe, WeChat Pay and 易支付 V2 refuse what is more than five
// minutes away (payments' failure table). It is told once while it lasts, and stands on the page of payments.
import { listConditions } from "#server/store/alerts.ts";
import type { Db } from "#server/store/db.ts";
import type { Tools } from "#server/tools.ts";
import type { Instance } from "./provider.ts";

/** What signatures may be away. Unit: seconds. */
const MOST_SEC = 300;

type ClockTools = Pick<Tools, "clock" | "coord" | "notify">;

/** Of each process, the accounts whose clock agreed with ours when they were heard last. */
const agreeing = new WeakMap<ClockTools["coord"], Set<number>>();

/** Positive = ours is ahead; undefined = the date cannot be read. Unit: seconds. Pure. */
export function clockOff(date: string, nowSec: number): number | undefined {
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? undefined : nowSec - Math.floor(ms / 1_000);
}

/**
 * Compares our clock with the `Date` of a provider's answer. A difference stands in the database, where every node reads it. A clock that is right
 * ends it once per process and account: a node whose clock is right must not end again and again what another node finds.
 */
export function compareClocks(
  { clock, coord, notify }: ClockTools,
  { id, name }: Pick<Instance, "id" | "name">,
  date: string,
): void {
  const off = clockOff(date, clock.seconds());
  if (off === undefined) return;
  const known = agreeing.get(coord) ?? new Set();
  agreeing.set(coord, known);
  const subject = { event: "payment_clock", about: aboutOf(id) } as const;
  if (Math.abs(off) > MOST_SEC) {
    known.delete(id);
    const title =
      off > 0 ? `系统时间比支付平台“${name}”快 ${off} 秒` : `系统时间比支付平台“${name}”慢 ${-off} 秒`;
    const content = "相差超过 300 秒时，支付平台会拒绝请求，通知也会被拒收。请校准服务器时间。";
    notify({ ...subject, title, content });
  } else if (!known.has(id)) {
    known.add(id);
    const content = "系统时间与支付平台一致。";
    notify({ ...subject, title: `系统时间与支付平台“${name}”一致`, content, isOver: true });
  }
}

/** What lasts, by the id of the account: a sentence with the difference. */
export async function clockFaults(db: Db): Promise<(id: number) => string> {
  const titles = new Map(
    (await listConditions(db, "payment_clock")).map(({ about, title }) => [about, title]),
  );
  return (id) => titles.get(aboutOf(id)) ?? "";
}

function aboutOf(id: number): string {
  return `payment clock ${id}`;
}

// Quiet hours: until when what is not critical is held back. Pure.

const DAY_MINUTES = 1_440;
const MINUTE_MS = 60_000;

/** `22:30` as minutes of the day. */
function minutesOf(text: string): number {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return hours * 60 + minutes;
}

/** When the quiet hours end that hold now, ms; 0 = none do. They may span midnight; equal ends are none. `zone` = IANA name. */
export function quietUntil(
  { from, to }: { readonly from: string; readonly to: string },
  nowMs: number,
  zone: string,
): number {
  if (from === "" || to === "") return 0;
  const form = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone } as const;
  const now = minutesOf(new Intl.DateTimeFormat("en-GB", form).format(nowMs));
  const since = (begin: number, end: number) => (end - begin + DAY_MINUTES) % DAY_MINUTES;
  const length = since(minutesOf(from), minutesOf(to));
  const passed = since(minutesOf(from), now);
  return passed < length ? nowMs - (nowMs % MINUTE_MS) + (length - passed) * MINUTE_MS : 0;
}

// A span of time as filters have it. Pure.

/** Seconds since 1970; 0 = open. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** Presets of a time range, by the viewer's own calendar. */
export function rangePresets(now: Date): readonly { readonly label: string; readonly window: Window }[] {
  const day = (offset: number) =>
    Math.floor(new Date(now.getFullYear(), now.getMonth(), now.getDate() + offset).getTime() / 1000);
  const month = Math.floor(new Date(now.getFullYear(), now.getMonth(), 1).getTime() / 1000);
  const tonight = day(1) - 1;
  return [
    { label: "今天", window: { start: day(0), end: tonight } },
    { label: "昨天", window: { start: day(-1), end: day(0) - 1 } },
    { label: "近 7 天", window: { start: day(-6), end: tonight } },
    { label: "本月", window: { start: month, end: tonight } },
  ];
}

/** The whole number in a query; 0 for anything that is none. */
export function wholeIn(text: string | null | undefined): number {
  const value = Number(text ?? "");
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

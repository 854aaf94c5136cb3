// Videos that are made in the background: the wires there are, the bounds of a request, and the words for how far a task is. Pure.

/** How a vendor takes, tells and hands out videos; one file of `upstream/video` each. */
export type VideoWireName = "openai" | "ark" | "kling" | "minimax" | "vidu" | "dashscope" | "veo";

/** `submitting` = it is not known yet whether the upstream has it. */
export const TASK_STATES = [
  "submitting",
  "queued",
  "in_progress",
  "completed",
  "failed",
  "cancelled",
] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** Nothing changes in these any more. */
export const ENDED_STATES: readonly TaskState[] = ["completed", "failed", "cancelled"];

/** No vendor makes longer ones. Unit: seconds. */
export const MOST_VIDEO_SECONDS = 60;
/** Unit: pixels of a side. */
const LEAST_SIDE = 64;
const MOST_SIDE = 4_096;

export interface VideoSize {
  readonly width: number;
  readonly height: number;
  /** What prices go by, e.g. `1080p`: the shorter side. */
  readonly resolution: string;
}

/** Reads `1280x720` or `1920*1080`; undefined = it is no size, or out of bounds. */
export function videoSize(text: string): VideoSize | undefined {
  const [, wide, high] = /^(\d{2,4})[x*](\d{2,4})$/.exec(text) ?? [];
  if (wide === undefined || high === undefined) return undefined;
  const [width, height] = [Number(wide), Number(high)];
  if (Math.min(width, height) < LEAST_SIDE || Math.max(width, height) > MOST_SIDE) return undefined;
  return { width, height, resolution: `${Math.min(width, height)}p` };
}

const RESOLUTIONS: ReadonlyMap<string, string> = new Map([
  ["360p", "360p"],
  ["480p", "480p"],
  ["512p", "512p"],
  ["540p", "540p"],
  ["720p", "720p"],
  ["768p", "768p"],
  ["1080p", "1080p"],
  ["2k", "1440p"],
  ["1440p", "1440p"],
  ["4k", "2160p"],
  ["2160p", "2160p"],
]);

/** The word that prices go by; undefined = there is no such resolution. */
export function videoResolution(text: string): string | undefined {
  return RESOLUTIONS.get(text.toLowerCase());
}

/** The name under which the tables keep the price of a model at a resolution, where it has one of its own: `wan2.5-t2v-preview@1080p`. */
export function videoPriceName(model: string, resolution: string): string {
  return `${model}@${resolution}`;
}

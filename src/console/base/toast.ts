// Toasts with the spec's durations. This file only queues them; ui/toasts.tsx draws and is loaded with the first one.
import { createStore, useStore } from "./store.ts";

/** Milliseconds on screen (requirements B9). */
export const TOAST_MS = { success: 1500, info: 3000, error: 5000, warning: 10_000, notice: 20_000 } as const;
export type ToastKind = keyof typeof TOAST_MS;

export interface Toast {
  readonly kind: ToastKind;
  readonly text: string;
  /** 0 = until closed. */
  readonly ms: number;
}

/** What was said and not drawn yet. */
const queue = createStore<readonly Toast[]>([]);

/** Toasts to draw; renders again when something is said. */
export function useWaitingToasts(): readonly Toast[] {
  return useStore(queue);
}

/** Takes everything off the queue, in the order it was said. */
export function takeToasts(): readonly Toast[] {
  const waiting = queue.get();
  queue.set([]);
  return waiting;
}

function say(kind: ToastKind, text: string, ms: number = TOAST_MS[kind]): void {
  queue.set([...queue.get(), { kind, text, ms }]);
}

export const toast = {
  success: (text = "操作成功完成！") => say("success", text),
  info: (text: string) => say("info", text),
  /** Stays until closed (requirements B9, "info notices with no timeout"). */
  pin: (text: string) => say("info", text, 0),
  error: (text: string) => say("error", text),
  warning: (text: string) => say("warning", text),
  notice: (text: string) => say("notice", text),
};

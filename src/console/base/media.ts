// What the device and the user's system say: narrow screens, dark preference, reduced motion.
import { useSyncExternalStore } from "react";

/** The spec's border between desktop and phone (requirements B9). */
export const NARROW = "(max-width: 600px)";
/** Below this the side menu becomes a drawer. */
export const COMPACT = "(max-width: 900px)";
export const DARK = "(prefers-color-scheme: dark)";
/** Holds while a page is laid out for paper. */
export const PRINT = "print";
export const CALM = "(prefers-reduced-motion: reduce)";

/** Whether the media query holds now. */
export function matches(media: string): boolean {
  return window.matchMedia(media).matches;
}

/** Whether the media query holds; renders again when that changes. */
export function useMedia(media: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = window.matchMedia(media);
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    () => matches(media),
  );
}

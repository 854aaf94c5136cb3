// A reload brings its reader back to the same place on the page, also when the page grows to that height only with the answers of
// the server: the router scrolls once, as soon as the page is drawn.
import { useEffect } from "react";
import { type Location, ScrollRestoration, useLocation } from "react-router";

/** Where the router keeps the places, as it documents for `ScrollRestoration`. */
const PLACES = "react-router-scroll-positions";
/** What a reader does who wants to be elsewhere by now. */
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];
/** How long a page is waited for. Unit: ms. */
const LATE_MS = 10_000;

export function KeptPlace() {
  const location = useLocation();
  useLateScroll(location);
  return <ScrollRestoration getKey={placeKey} />;
}

/** What a place on a page is remembered by: the first location of every document is called "default", whichever page it is. */
function placeKey({ key, pathname, search }: Location): string {
  return key === "default" ? pathname + search : key;
}

function useLateScroll(location: Location): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a document has one first location; each later one ends the waiting.
  useEffect(() => {
    const place = location.key === "default" ? savedPlace(placeKey(location)) : 0;
    if (place <= window.scrollY) return;
    const end = new AbortController();
    const { signal } = end;
    const growth = new ResizeObserver(() => {
      window.scrollTo(0, place);
      // A screen of fractional pixels scrolls to the next of its own.
      if (window.scrollY > place - 1) end.abort();
    });
    growth.observe(document.body);
    const timer = setTimeout(() => end.abort(), LATE_MS);
    signal.addEventListener("abort", () => {
      growth.disconnect();
      clearTimeout(timer);
    });
    for (const move of MOVES) window.addEventListener(move, () => end.abort(), { signal, passive: true });
    return () => end.abort();
  }, [location.key]);
}

function savedPlace(key: string): number {
  try {
    const place: unknown = JSON.parse(sessionStorage.getItem(PLACES) ?? "{}")[key];
    return typeof place === "number" ? place : 0;
  } catch {
    return 0;
  }
}

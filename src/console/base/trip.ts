// What outlives a trip to another site for a login: where the user was, and what they had typed (ui/draft.ts). It lies in the memory of
// the page, and in the storage of this tab only while the page is away. What is read from there is untrusted (requirements H04, H07).
import { z } from "zod";
import { safePath } from "./redirect.ts";

const KEY = "trip";
const Trip = z.object({
  from: z.unknown(),
  drafts: z.record(z.string(), z.record(z.string(), z.unknown())),
});

function unpack(): z.output<typeof Trip> | undefined {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return text === null ? undefined : Trip.safeParse(JSON.parse(text)).data;
  } catch {
    // Broken text, or a storage that is forbidden.
    return undefined;
  }
}

const luggage = unpack();
let from = luggage?.from;

/** Location of a form → what was typed into it when the session ran out. */
export const drafts = new Map<string, object>(Object.entries(luggage?.drafts ?? {}));

/** Leads this tab to another site, from where the login comes back; `origin` is the location that wanted the login. */
export function leaveFor(address: string, origin: unknown): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ from: origin, drafts: Object.fromEntries(drafts) }));
  } catch {
    // Full or forbidden storage loses a convenience, nothing else.
  }
  window.location.assign(address);
}

/** The path that wanted the login this tab comes back from, once; undefined = none did. */
export function takeOrigin(): string | undefined {
  const path = safePath(from);
  from = undefined;
  return path;
}

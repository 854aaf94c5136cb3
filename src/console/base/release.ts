// The newest release on the public code host (spec §7, "update check"). Its notes are a stranger's text and are shown as text.
import { z } from "zod";
import { readElsewhere } from "./call.ts";

const REPOSITORY = import.meta.env?.VITE_RELEASES ?? "";

const Release = z.object({ tag_name: z.string(), body: z.string().nullish() });

export interface Release {
  /** As tagged, e.g. `v0.2.0`. */
  readonly version: string;
  readonly notes: string;
}

/** Address people can open; undefined when this build names no repository. */
export function releasesPage(repository = REPOSITORY): string | undefined {
  return /^[\w.-]+\/[\w.-]+$/.test(repository) ? `https://github.com/${repository}/releases` : undefined;
}

/** Asks the code host. Throws: ApiFault, e.g. when the content policy keeps the browser at home. */
export async function latestRelease(): Promise<Release> {
  const release = await readElsewhere(`https://api.github.com/repos/${REPOSITORY}/releases/latest`, Release);
  return { version: release.tag_name, notes: release.body ?? "" };
}

// The newest release on the public code host (requirements B7, "update check"). Its notes are untrusted and are shown as text.
import { z } from "zod";
import { isRepository } from "#contract/option-kinds.ts";
import { readElsewhere } from "./call.ts";

const Release = z.object({ tag_name: z.string(), body: z.string().nullish() });

export interface Release {
  /** As tagged, e.g. `v0.2.0`. */
  readonly version: string;
  readonly notes: string;
}

/** Address people can open; undefined when the operator has named no repository. */
export function releasesPage(repository: string): string | undefined {
  return isRepository(repository) ? `https://github.com/${repository}/releases` : undefined;
}

/** Asks the code host. Throws: ApiFault, e.g. when the browser cannot reach it. */
export async function latestRelease(repository: string): Promise<Release> {
  const release = await readElsewhere(`https://api.github.com/repos/${repository}/releases/latest`, Release);
  return { version: release.tag_name, notes: release.body ?? "" };
}

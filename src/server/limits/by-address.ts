import type { Config } from "#server/config.ts";
import type { Limits } from "./limits.ts";
import { LIMITS } from "./table.ts";

/** Counts a call of an address against one of the family's limits, as the operator set it. Throws: 429. */
export async function limitAddress(
  { config, limits }: { readonly config: Pick<Config, "rateLimits">; readonly limits: Limits },
  name: keyof Config["rateLimits"],
  address: string,
): Promise<void> {
  const { limit: burst, windowMs } = config.rateLimits[name];
  if (burst > 0)
    await limits.count([{ limit: { ...LIMITS[name], burst, windowMs }, subject: address }], address);
}

// What the partner plan brings, for the pages that tell of it.
import { useStatus } from "#console/base/status.ts";
import { PartnerTerms } from "#contract/partner-terms.ts";

/** What the partner plan brings; the product's own terms until the status is there. */
export function usePartnerTerms(): PartnerTerms {
  return useStatus()?.partner ?? PartnerTerms.parse({});
}

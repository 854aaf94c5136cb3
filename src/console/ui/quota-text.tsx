// Quota as money or abbreviated units, the exact number on hover.

import { formatCount } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { formatQuota } from "#contract/quota.ts";
import { Tooltip } from "./tooltip.tsx";

export interface QuotaTextProps {
  /** Quota units. */
  readonly quota: number;
  readonly digits?: number;
}

export function QuotaText({ quota, digits = 2 }: QuotaTextProps) {
  const display = useQuotaDisplay();
  return (
    <Tooltip title={`${formatCount(quota)} 点额度`}>
      <span className="tg-number">{formatQuota(quota, display, digits)}</span>
    </Tooltip>
  );
}

// Values as short texts that tell more on hover.
import { formatCount, formatTime, relativeTime } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { formatQuota } from "#contract/quota.ts";
import { Tooltip } from "./tooltip.tsx";

export interface TimeTextProps {
  /** Seconds since 1970; 0 and below = none. */
  readonly seconds: number;
  /** What stands there when there is none. */
  readonly none?: string;
}

export function TimeText({ seconds, none = "—" }: TimeTextProps) {
  if (seconds <= 0) return <span className="tg-muted">{none}</span>;
  return (
    <Tooltip title={() => relativeTime(seconds, Date.now() / 1000)}>
      <time className="tg-number" dateTime={new Date(seconds * 1000).toISOString()}>
        {formatTime(seconds)}
      </time>
    </Tooltip>
  );
}

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

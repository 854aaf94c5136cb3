// A moment as year-month-day hour:minute:second, with the relative time on hover.

import { formatTime, relativeTime } from "#console/base/format.ts";
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

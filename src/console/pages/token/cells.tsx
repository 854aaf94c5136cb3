// Cells of the token list that say more than a value.

import { formatCount, formatTime } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { TimeText } from "#console/ui/time-text.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { formatQuota } from "#contract/quota.ts";
import type { Token } from "#contract/token.ts";
import { expiryWords, NEVER } from "./expiry.ts";
import "./cells.css";

/** What is left, over a bar of what was used of the whole. */
export function RemainingQuota({ token }: { readonly token: Token }) {
  const display = useQuotaDisplay();
  if (token.unlimited_quota) return <span className="tg-muted">无限制</span>;
  const total = token.used_quota + token.remain_quota;
  const left = total === 0 ? 0 : Math.max(0, token.remain_quota / total);
  const words = `剩余 ${formatCount(token.remain_quota)} 点，共 ${formatQuota(total, display)}`;
  return (
    <Tooltip title={words}>
      <span className="tg-remaining">
        <span className="tg-number">{formatQuota(token.remain_quota, display)}</span>
        <span className="tg-bar" aria-hidden="true">
          <span className={left < 0.1 ? "tg-bar-low" : ""} style={{ width: `${Math.round(left * 100)}%` }} />
        </span>
      </span>
    </Tooltip>
  );
}

/** The date (requirements B3), in a warning tone near the end; how far away it is on hover. */
export function Expiry({ token }: { readonly token: Token }) {
  const { expired_time } = token;
  const { text, tone } = expiryWords(expired_time, Date.now() / 1000);
  if (expired_time === NEVER) return <span className="tg-muted">{text}</span>;
  if (tone === "idle") return <TimeText seconds={expired_time} />;
  return <StatusTag tone={tone} label={formatTime(expired_time)} hint={text} />;
}

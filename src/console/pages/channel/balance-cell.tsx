// What a provider says is left, of a channel or of one of its keys; a click asks it again.
import { SyncOutlined } from "@ant-design/icons";
import { Button } from "antd";
import { formatTime } from "#console/base/format.ts";
import { useMay } from "#console/base/session.ts";
import { Tooltip } from "#console/ui/tooltip.tsx";
import type { BalanceUnit } from "#contract/providers.ts";
import { abbreviate, formatQuota, type QuotaDisplay } from "#contract/quota.ts";

/** A stored balance in the unit of its type (requirements B9); a type without one says only how many. */
export function balanceText(balance: number, unit: BalanceUnit | undefined, display: QuotaDisplay): string {
  switch (unit) {
    case undefined:
      return balance.toFixed(2);
    case "usd":
      return `$${balance.toFixed(2)}`;
    case "cny":
      return `¥${balance.toFixed(2)}`;
    case "cny/10000":
      return `¥${(balance / 10_000).toFixed(2)}`;
    case "quota":
      return display.inCurrency ? formatQuota(balance, display) : abbreviate(balance);
  }
}

export interface BalanceCellProps {
  readonly text: string;
  /** Seconds; 0 = it was never told. */
  readonly time: number;
  /** What a click does, and whose it is. */
  readonly label: string;
  readonly isBusy: boolean;
  readonly onAsk: () => void;
}

export function BalanceCell({ text, time, label, isBusy, onAsk }: BalanceCellProps) {
  const mayAsk = useMay("channel.test");
  if (!mayAsk) return <span className="tg-number">{text}</span>;
  return (
    <Tooltip title={time === 0 ? "尚未更新，点击更新" : `更新于 ${formatTime(time)}，点击更新`}>
      <Button
        type="text"
        size="small"
        className="tg-channel-balance tg-number"
        aria-label={label}
        disabled={isBusy}
        onClick={onAsk}
      >
        {text}
        <SyncOutlined spin={isBusy} aria-hidden="true" />
      </Button>
    </Tooltip>
  );
}

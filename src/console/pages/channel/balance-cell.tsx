// What a channel has left upstream, in the unit of its type; a click asks the upstream again.
import { SyncOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { patchRow } from "#console/base/rows.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { type Channel, channelApi } from "#contract/channel.ts";
import { type BalanceUnit, providerOf } from "#contract/providers.ts";
import { abbreviate, formatQuota, type QuotaDisplay } from "#contract/quota.ts";

const LISTS = [channelApi.list, channelApi.search] as const;

/** A stored balance in the unit of its type (requirements B9). */
export function balanceText(balance: number, unit: BalanceUnit, display: QuotaDisplay): string {
  switch (unit) {
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

export function Balance({ channel }: { readonly channel: Channel }) {
  const client = useQueryClient();
  const display = useQuotaDisplay();
  const refresh = useCall(channelApi.updateBalance, {
    onSuccess: ({ balance }, { params }) => {
      const balance_updated_time = Math.floor(Date.now() / 1000);
      patchRow(client, LISTS, { id: params.id, ...{ balance, balance_updated_time } });
      toast.success(`渠道 ${channel.name} 余额更新成功！`);
    },
  });
  const unit = providerOf(channel.type)?.balance?.unit;
  if (unit === undefined) return <span className="tg-muted">不支持</span>;
  const when = formatTime(channel.balance_updated_time);
  const text = balanceText(channel.balance, unit, display);
  return (
    <Tooltip title={when === "" ? "尚未更新，点击更新" : `更新于 ${when}，点击更新`}>
      <Button
        type="text"
        size="small"
        className="tg-channel-balance tg-number"
        aria-label={`${text}，更新渠道 ${channel.name} 的余额`}
        disabled={refresh.isPending}
        onClick={() => refresh.mutate({ params: { id: channel.id } })}
      >
        {text}
        <SyncOutlined spin={refresh.isPending} aria-hidden="true" />
      </Button>
    </Tooltip>
  );
}

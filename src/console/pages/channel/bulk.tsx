// What can be done to the chosen channels at once: enable, disable, test, delete.
import { useQueryClient } from "@tanstack/react-query";
import { call } from "#console/base/call.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { BulkActions } from "#console/ui/bulk-actions.tsx";
import { type Channel, ChannelStatus, channelApi } from "#contract/channel.ts";
import { LISTS } from "./stale.ts";
import type { ChannelTest } from "./test-button.tsx";

export interface ChannelBulkProps {
  readonly channels: readonly Channel[];
  readonly test: ChannelTest;
  readonly onDone: (failed: readonly Channel[]) => void;
}

export function ChannelBulk({ channels, test, onDone }: ChannelBulkProps) {
  const client = useQueryClient();
  const setStatus = (status: number) => async (channel: Channel) => {
    const { id } = channel;
    await call(channelApi.update, { body: { id, key: "", status } });
    patchRow(client, LISTS, { id, ...{ status } });
  };
  const remove = async ({ id }: Channel) => {
    await call(channelApi.remove, { params: { id } });
    hideRow(client, LISTS, id);
  };
  return (
    <BulkActions<Channel>
      rows={channels}
      noun="渠道"
      nameOf={({ name }) => name}
      lists={LISTS}
      onDone={onDone}
      acts={[
        { verb: "启用", act: setStatus(ChannelStatus.enabled), permission: "channel.write" },
        { verb: "禁用", act: setStatus(ChannelStatus.disabled), permission: "channel.write" },
        { verb: "测试", act: (channel) => test.probe(channel, ""), permission: "channel.test" },
        { verb: "删除", act: remove, permission: "channel.delete", warning: "此操作无法撤销。" },
      ]}
    />
  );
}

// All channels: test, enable and disable, priority and weight in place, edit, delete.

import { useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { changesRow, removesRow } from "#console/base/rows.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { SeenNotice } from "#console/ui/callout.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { emptyOf, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { blocksOf, listOf, ResourceTable } from "#console/ui/resource-table.tsx";
import { AddLink, copyAction, deleteAction, editAction, toggleAction } from "#console/ui/row-actions.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { type Channel, ChannelStatus, channelApi } from "#contract/channel.ts";
import { ChannelBulk } from "./bulk.tsx";
import { ChannelState, channelColumns, KeysLink, ModelsLink, Notes } from "./columns.tsx";
import { CHANNEL_FILE, CHANNEL_FILTERS } from "./filters.ts";
import { ChannelFooter } from "./footer.tsx";
import { TestButton, useChannelTest } from "./test-button.tsx";
import "./list.css";
import { LISTS } from "./stale.ts";

/** Changes some fields of a channel; the row shows them at once. */
function useChannelUpdate() {
  const update = useCall(channelApi.update, changesRow(LISTS, ["status", "priority", "weight"]));
  return (id: number, change: { status?: number; priority?: number; weight?: number }) =>
    update.mutate({ body: { id, key: "", ...change } });
}

function useChannelActions(change: ReturnType<typeof useChannelUpdate>) {
  const toForm = useToForm();
  const test = useChannelTest(LISTS);
  const copy = useCall(channelApi.copy, {
    invalidates: LISTS,
    onSuccess: ({ id }) => {
      toast.success("已复制，副本为禁用状态");
      toForm(`/channel/edit/${id}`);
    },
  });
  const remove = useCall(channelApi.remove, removesRow(LISTS));
  const actions = ({ id, name, status: present }: Channel): RowAction[] => {
    const isEnabled = present === ChannelStatus.enabled;
    const status = isEnabled ? ChannelStatus.disabled : ChannelStatus.enabled;
    return [
      { ...toggleAction(isEnabled, () => change(id, { status })), permission: "channel.write" },
      { ...editAction(() => toForm(`/channel/edit/${id}`)), permission: "channel.write" },
      { ...copyAction(() => copy.mutate({ params: { id } })), permission: "channel.write" },
      {
        ...deleteAction(() => remove.mutate({ params: { id } }), `删除渠道“${name}”？此操作无法撤销。`),
        permission: "channel.delete",
      },
    ];
  };
  return { actions, test };
}

const add = <AddLink to="/channel/add" text="添加新的渠道" permission="channel.write" />;

const extra = (
  <>
    <LinkButton to="/channel/route">路由解释</LinkButton>
    {add}
  </>
);

export function ChannelListPage() {
  const filters = useAddressFilters(CHANNEL_FILTERS);
  const change = useChannelUpdate();
  const { actions, test } = useChannelActions(change);
  const mayWrite = useMay("channel.write");
  const mayTest = useMay("channel.test");
  const mayDelete = useMay("channel.delete");
  const bulk = (channels: readonly Channel[], onDone: (left: readonly Channel[]) => void) => (
    <ChannelBulk channels={channels} test={test} onDone={onDone} />
  );
  return (
    <Page title="管理渠道" lead="渠道是上游账户。请求按优先级选择渠道，同级按权重分流。" extra={extra}>
      <SeenNotice prompt="channel_balance">
        OpenAI 渠道已不再支持通过 key 获取余额，因此余额显示为 0。
      </SeenNotice>
      <ResourceTable<Channel>
        name="channel"
        label="渠道列表"
        searchHint="搜索渠道的 ID、名称和密钥"
        filters={
          <ListFilters label="渠道筛选" fields={CHANNEL_FILTERS} {...filters} onChange={filters.change} />
        }
        load={listOf(channelApi, filters.filter)}
        file={{ name: "渠道", columns: CHANNEL_FILE, block: blocksOf(channelApi, filters.filter) }}
        columns={channelColumns(mayWrite ? change : undefined)}
        actions={actions}
        actionsWidth={wide(284, 314)}
        {...(mayTest ? { lead: (channel: Channel) => <TestButton channel={channel} test={test} /> } : {})}
        cardTitle={(channel) => (
          <>
            <span className="tg-muted">#{channel.id}</span> {channel.name} <KeysLink channel={channel} />
            <ModelsLink channel={channel} />
            <Notes channel={channel} />
          </>
        )}
        cardState={(channel) => <ChannelState row={channel} />}
        cardFacts={["group", "type", "response_time", "balance", "priority", "weight"]}
        empty={emptyOf(filters, { text: "还没有渠道。添加上游账户后，令牌才有模型可用。", action: add })}
        footer={<ChannelFooter />}
        {...(mayWrite || mayTest || mayDelete ? { bulk } : {})}
      />
    </Page>
  );
}

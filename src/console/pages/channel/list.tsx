// All channels: test, enable and disable, priority and weight in place, edit, delete.
import {
  CopyOutlined,
  DeleteOutlined,
  EditOutlined,
  PlusOutlined,
  PoweroffOutlined,
} from "@ant-design/icons";
import { query, useCall } from "#console/base/call.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { toast } from "#console/base/toast.ts";
import { useToForm } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { SeenNotice } from "#console/ui/seen-notice.tsx";
import { type Channel, ChannelStatus, channelApi } from "#contract/channel.ts";
import { BulkActions } from "./bulk.tsx";
import { ChannelState, channelColumns } from "./columns.tsx";
import { ChannelFooter } from "./footer.tsx";
import { TestButton, useChannelTest } from "./test-button.tsx";
import "./list.css";

const LISTS = [channelApi.list, channelApi.search] as const;

/** Changes some fields of a channel; the row shows them at once. */
function useChannelUpdate() {
  const update = useCall(channelApi.update, {
    invalidates: LISTS,
    onSuccess: () => toast.success(),
    optimistic: (client, { body }) => {
      const { id, status, priority, weight } = body;
      const patch = Object.entries({ status, priority, weight }).filter(([, value]) => value !== undefined);
      return patchRow(client, LISTS, { id, ...Object.fromEntries(patch) });
    },
  });
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
  const remove = useCall(channelApi.remove, {
    invalidates: LISTS,
    onSuccess: () => toast.success(),
    optimistic: (client, { params }) => hideRow(client, LISTS, params.id),
  });
  const actions = (channel: Channel): RowAction[] => {
    const isEnabled = channel.status === ChannelStatus.enabled;
    const status = isEnabled ? ChannelStatus.disabled : ChannelStatus.enabled;
    return [
      {
        key: "toggle",
        label: isEnabled ? "禁用" : "启用",
        icon: <PoweroffOutlined aria-hidden="true" />,
        onClick: () => change(channel.id, { status }),
      },
      {
        key: "edit",
        label: "编辑",
        icon: <EditOutlined aria-hidden="true" />,
        onClick: () => toForm(`/channel/edit/${channel.id}`),
      },
      {
        key: "copy",
        label: "复制",
        icon: <CopyOutlined aria-hidden="true" />,
        onClick: () => copy.mutate({ params: { id: channel.id } }),
      },
      {
        key: "delete",
        label: "删除",
        icon: <DeleteOutlined aria-hidden="true" />,
        isDanger: true,
        question: `删除渠道“${channel.name}”？此操作无法撤销。`,
        confirmText: "确认删除",
        onClick: () => remove.mutate({ params: { id: channel.id } }),
      },
    ];
  };
  return { actions, test };
}

function AddChannel() {
  return (
    <LinkButton to="/channel/add" kind="primary" icon={<PlusOutlined aria-hidden="true" />}>
      添加新的渠道
    </LinkButton>
  );
}

export function ChannelListPage() {
  const change = useChannelUpdate();
  const { actions, test } = useChannelActions(change);
  return (
    <Page
      title="管理渠道"
      lead="渠道是上游账户。请求按优先级选择渠道，同级按权重分流。"
      extra={<AddChannel />}
    >
      <SeenNotice prompt="channel_balance">
        OpenAI 渠道已不再支持通过 key 获取余额，因此余额显示为 0。
      </SeenNotice>
      <ResourceTable<Channel>
        name="channel"
        label="渠道列表"
        searchHint="搜索渠道的 ID、名称和密钥"
        load={({ keyword, ...page }) =>
          keyword === ""
            ? query(channelApi.list, { query: page })
            : query(channelApi.search, { query: { ...page, keyword } })
        }
        columns={channelColumns(change)}
        actions={actions}
        actionsWidth={284}
        lead={(channel) => <TestButton channel={channel} test={test} />}
        cardTitle={(channel) => (
          <>
            <span className="tg-muted">#{channel.id}</span> {channel.name}
          </>
        )}
        cardState={(channel) => <ChannelState channel={channel} />}
        cardFacts={["group", "type", "response_time", "balance", "priority", "weight"]}
        empty={{ text: "还没有渠道。添加上游账户后，令牌才有模型可用。", action: <AddChannel /> }}
        footer={<ChannelFooter />}
        bulk={(channels, clear) => <BulkActions channels={channels} test={test} onDone={clear} />}
      />
    </Page>
  );
}

// The keys of a channel that has several: what each is doing and why one is off; added by pasting, tested, changed, deleted (requirements C29).

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Select } from "antd";
import { useMemo, useState } from "react";
import { useParams, useSearchParams } from "react-router";
import { call, invalidate, query, useCall } from "#console/base/call.ts";
import { handleFault } from "#console/base/faults.ts";
import { formatCount, formatMs } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { patchRow } from "#console/base/rows.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { offReason } from "#console/ui/failure-words.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import { deleteAction, editAction, toggleAction } from "#console/ui/row-actions.tsx";
import type { RowAction } from "#console/ui/row-view.ts";
import { useAddress } from "#console/ui/table-state.ts";
import { type Channel, ChannelStatus, channelApi } from "#contract/channel.ts";
import { type ChannelKey, channelKeyApi } from "#contract/channel-key.ts";
import type { AnswerOf } from "#contract/endpoint.ts";
import { KeyState, keyColumnsOf, keyName } from "./key-columns.tsx";
import { KeyDialog } from "./key-dialog.tsx";
import { KeyFooter } from "./key-footer.tsx";
import { PasteDialog } from "./key-paste.tsx";
import { OF_KEYS } from "./stale.ts";
import "./list.css";

type Keys = AnswerOf<typeof channelKeyApi.list>;

const LISTS = [channelKeyApi.list] as const;

const STATUS = [
  { value: 0, label: "全部状态" },
  { value: ChannelStatus.enabled, label: "已启用" },
  { value: ChannelStatus.disabled, label: "已禁用" },
  { value: ChannelStatus.autoDisabled, label: "自动禁用" },
];

function StatusFilter() {
  const [params, change] = useAddress();
  return (
    <Select
      aria-label="按状态筛选"
      className="tg-key-status"
      value={Number(params.get("status") ?? 0)}
      options={STATUS}
      onChange={(status) =>
        change({ page: "", status: status === 0 ? "" : String(status) }, { replace: true })
      }
    />
  );
}

function useKeyActions(id: number, onEdit: (key: ChannelKey) => void) {
  const client = useQueryClient();
  const [testing, setTesting] = useState<number>();
  const update = useCall(channelKeyApi.update, {
    invalidates: OF_KEYS,
    optimistic: (cache, { body }) => {
      const undo = body.ids.map((key) =>
        patchRow(cache, LISTS, { id: key, ...{ status: body.status, status_reason: "" } }),
      );
      return () => {
        for (const back of undo) back();
      };
    },
  });
  const remove = useCall(channelKeyApi.remove, {
    invalidates: OF_KEYS,
    onSuccess: (count) => toast.success(`已删除 ${formatCount(count)} 个密钥`),
  });
  const test = async (key: ChannelKey) => {
    setTesting(key.id);
    try {
      const { time } = await call(channelKeyApi.test, { params: { id }, body: { key_id: key.id } });
      toast.success(`密钥 ${keyName(key)} 可用，耗时 ${formatMs(time * 1000)}`);
    } catch (error) {
      handleFault(error);
    } finally {
      setTesting(undefined);
      await invalidate(client, LISTS);
    }
  };
  const setStatus = (ids: readonly number[], status: number) =>
    update.mutateAsync({ params: { id }, body: { ids: [...ids], status } }).then(
      (count) => toast.success(`已${status === 1 ? "启用" : "禁用"} ${formatCount(count)} 个密钥`),
      // Told already.
      () => undefined,
    );
  const removeKeys = (ids: readonly number[]) => remove.mutate({ params: { id }, body: { ids: [...ids] } });
  const actions = (key: ChannelKey): RowAction[] => {
    const isEnabled = key.status === ChannelStatus.enabled;
    return [
      {
        key: "test",
        label: "测试",
        permission: "channel.test",
        onClick: () => void test(key),
        isDisabled: testing !== undefined,
      },
      {
        ...toggleAction(
          isEnabled,
          () => void setStatus([key.id], isEnabled ? ChannelStatus.disabled : ChannelStatus.enabled),
        ),
        permission: "channel.write",
      },
      { ...editAction(() => onEdit(key)), permission: "channel.write" },
      {
        ...deleteAction(() => removeKeys([key.id]), `删除密钥 ${keyName(key)}？此操作无法撤销。`),
        permission: "channel.delete",
      },
    ];
  };
  return { actions, setStatus, removeKeys };
}

/** What a card is about; of a key that is off also why, which has no room among the facts. */
function cardTitle(key: ChannelKey) {
  if (key.status_reason === "") return keyName(key);
  return (
    <>
      {keyName(key)}
      <span className="tg-key-why">{offReason(key.status_reason)}</span>
    </>
  );
}

function leadOf(channel: Channel | undefined, counts: { enabled: number; off: number } | undefined): string {
  if (channel?.has_keys === false)
    return "这个渠道只有一个密钥。粘贴更多密钥后，调用在它们之间分配，坏掉的自动停用。";
  if (counts === undefined) return "调用在启用的密钥之间分配；坏掉的自动停用，可用后自动恢复。";
  const { enabled, off } = counts;
  return `${formatCount(enabled)} 个可用，${formatCount(off)} 个停用。坏掉的密钥自动停用，可用后自动恢复，渠道照常服务。`;
}

const LOOK_MS = 3_000;

/** While all keys are tested or asked, what came of it shows by itself; the last answer comes when that is over. */
function whileBusy({ state: { data } }: { readonly state: { readonly data: Keys | undefined } }) {
  return data?.testing === true || data?.asking === true ? LOOK_MS : false;
}

export function ChannelKeysPage() {
  const id = Number(useParams()["channel"]);
  const [params] = useSearchParams();
  const status = Number(params.get("status") ?? 0);
  const [isPasting, setPasting] = useState(false);
  const [edited, setEdited] = useState<ChannelKey>();
  const { actions, setStatus, removeKeys } = useKeyActions(id, setEdited);
  const channel = useQuery({ ...query(channelApi.get, { params: { id } }), meta: { silent: true } });
  const head = useQuery({
    ...query(channelKeyApi.list, { params: { id }, query: { size: 1 } }),
    meta: { silent: true },
    refetchInterval: whileBusy,
  });
  const columns = useMemo(() => keyColumnsOf(id, channel.data?.type), [id, channel.data?.type]);
  const counts = head.data && {
    enabled: head.data.enabled,
    off: head.data.disabled + head.data.auto_disabled,
  };
  const mayWrite = useMay("channel.write");
  const mayDelete = useMay("channel.delete");
  const paste = mayWrite ? (
    <Button type="primary" onClick={() => setPasting(true)}>
      粘贴密钥
    </Button>
  ) : null;
  const bulk = (keys: readonly ChannelKey[], clear: (left: readonly ChannelKey[]) => void) => {
    const ids = keys.map((key) => key.id);
    const button = (label: string, status: number) => (
      <Button size="small" onClick={() => void setStatus(ids, status).then(() => clear([]))}>
        {label}
      </Button>
    );
    return (
      <>
        {mayWrite ? button("启用", ChannelStatus.enabled) : null}
        {mayWrite ? button("禁用", ChannelStatus.disabled) : null}
        {mayDelete ? (
          <Button size="small" danger onClick={() => removeKeys(ids)}>
            删除
          </Button>
        ) : null}
      </>
    );
  };
  return (
    <Page
      title={channel.data === undefined ? "渠道密钥" : `渠道密钥：${channel.data.name}`}
      lead={leadOf(channel.data, counts)}
      isComing={channel.isPending || head.isPending}
      extra={paste}
    >
      <ResourceTable<ChannelKey>
        name="channel-key"
        label="密钥列表"
        searchHint="搜索名称或停用原因"
        filters={<StatusFilter />}
        load={({ p, size, keyword, order, desc }) => ({
          ...query(channelKeyApi.list, { params: { id }, query: { p, size, keyword, status, order, desc } }),
          refetchInterval: whileBusy,
        })}
        columns={columns}
        actions={actions}
        actionsWidth={wide(184, 214)}
        cardTitle={cardTitle}
        cardState={(key) => <KeyState row={key} />}
        cardFacts={[
          "weight",
          "models",
          "proxy",
          "in_flight",
          "balance",
          "used_quota",
          "last_used",
          "response_time",
        ]}
        empty={{ text: status === 0 ? "还没有多个密钥。" : "没有这个状态的密钥。", action: paste }}
        footer={<KeyFooter channel={channel.data} head={head.data} />}
        {...(mayWrite || mayDelete ? { bulk } : {})}
      />
      {isPasting ? <PasteDialog id={id} stale={OF_KEYS} onClose={() => setPasting(false)} /> : null}
      {edited === undefined ? null : (
        <KeyDialog
          id={id}
          row={edited}
          models={channel.data?.models ?? []}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  );
}

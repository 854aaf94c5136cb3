// What is done to all keys of a channel at once: test, delete by the reason why they are off, export.
import { DeleteOutlined, DownloadOutlined, SyncOutlined, ThunderboltOutlined } from "@ant-design/icons";
import { Button, Modal, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { downloadText } from "#console/base/download.ts";
import { formatCount } from "#console/base/format.ts";
import { isRoot, useMay, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { offReason } from "#console/ui/failure-words.ts";
import { type Channel, ChannelStatus } from "#contract/channel.ts";
import { channelKeyApi, type KeyReason } from "#contract/channel-key.ts";
import { CHANNEL_TIMES } from "#contract/channel-limits.ts";
import { csvText } from "#contract/csv.ts";
import type { AnswerOf } from "#contract/endpoint.ts";
import { providerOf } from "#contract/providers.ts";
import { OF_KEYS } from "./stale.ts";

function reasonText({ status, reason, count }: KeyReason): string {
  const by = status === ChannelStatus.autoDisabled ? "自动禁用" : "手动禁用";
  return `${by}${reason === "" ? "" : `：${offReason(reason)}`}（${formatCount(count)} 个）`;
}

interface RemoveProps {
  readonly id: number;
  readonly reasons: readonly KeyReason[];
  readonly onClose: () => void;
}

function RemoveDialog({ id, reasons, onClose }: RemoveProps) {
  const [at, setAt] = useState(0);
  const chosen = reasons[at];
  const remove = useCall(channelKeyApi.remove, {
    invalidates: OF_KEYS,
    onSuccess: (count) => {
      toast.success(`已删除 ${formatCount(count)} 个密钥`);
      onClose();
    },
  });
  return (
    <Modal
      open
      title="按原因删除密钥"
      width={520}
      okText={chosen === undefined ? "删除" : `删除 ${formatCount(chosen.count)} 个`}
      okButtonProps={{ danger: true, disabled: chosen === undefined, loading: remove.isPending }}
      cancelText="取消"
      onOk={() =>
        chosen !== undefined &&
        remove.mutate({ params: { id }, body: { status: chosen.status, reason: chosen.reason } })
      }
      onCancel={onClose}
    >
      <p>删除因同一原因停用的全部密钥。此操作无法撤销；渠道至少保留一个密钥。</p>
      <Select
        aria-label="停用原因"
        className="tg-key-reason"
        value={at}
        options={reasons.map((reason, value) => ({ value, label: reasonText(reason) }))}
        onChange={setAt}
      />
    </Modal>
  );
}

function ExportButton({ id }: { readonly id: number }) {
  const take = useCall(channelKeyApi.export, {
    onSuccess: (keys) => {
      const columns = ["key", "name", "weight", ...CHANNEL_TIMES] as const;
      const rows = keys.map((row) => columns.map((column) => row[column]));
      downloadText({
        name: `渠道-${id}-密钥.csv`,
        text: csvText([columns, ...rows]),
        type: "text/csv",
      });
      toast.success(`已导出 ${formatCount(keys.length)} 个密钥，请妥善保管文件`);
    },
  });
  return (
    <ConfirmButton
      icon={<DownloadOutlined aria-hidden="true" />}
      loading={take.isPending}
      question="导出全部密钥的原文？须先在运营设置中打开，并写入审计日志。"
      confirmText="导出"
      onConfirm={() => take.mutate({ params: { id } })}
    >
      导出
    </ConfirmButton>
  );
}

export interface KeyFooterProps {
  readonly channel: Channel | undefined;
  readonly head: AnswerOf<typeof channelKeyApi.list> | undefined;
}

export function KeyFooter({ channel, head }: KeyFooterProps) {
  const user = useUser();
  const mayTest = useMay("channel.test");
  const mayDelete = useMay("channel.delete");
  const [isRemoving, setRemoving] = useState(false);
  const test = useCall(channelKeyApi.testAll, {
    invalidates: [channelKeyApi.list],
    onSuccess: () => toast.info("测试已开始，结果会陆续显示在列表中。"),
  });
  const balances = useCall(channelKeyApi.updateBalances, {
    invalidates: [channelKeyApi.list],
    onSuccess: () => toast.info("查询已开始，结果会陆续显示在列表中。"),
  });
  if (channel === undefined || head === undefined || head.enabled + head.disabled + head.auto_disabled === 0)
    return null;
  const { id, type } = channel;
  const button = (label: string, scope: "all" | "disabled") => (
    <Button
      icon={<ThunderboltOutlined aria-hidden="true" />}
      loading={test.isPending && test.variables.body.scope === scope}
      disabled={head.testing}
      onClick={() => test.mutate({ params: { id }, body: { scope } })}
    >
      {head.testing && scope === "all" ? "正在测试" : label}
    </Button>
  );
  return (
    <>
      {mayTest ? button("测试全部密钥", "all") : null}
      {mayTest ? button("测试停用的密钥", "disabled") : null}
      {mayTest && providerOf(type)?.balance !== undefined ? (
        <Button
          icon={<SyncOutlined aria-hidden="true" />}
          loading={balances.isPending}
          disabled={head.asking || head.enabled === 0}
          onClick={() => balances.mutate({ params: { id } })}
        >
          {head.asking ? "正在查询余额" : "查询全部余额"}
        </Button>
      ) : null}
      {mayDelete ? (
        <Button
          danger
          icon={<DeleteOutlined aria-hidden="true" />}
          disabled={head.reasons.length === 0}
          onClick={() => setRemoving(true)}
        >
          按原因删除
        </Button>
      ) : null}
      {isRoot(user) ? <ExportButton id={id} /> : null}
      {isRemoving ? <RemoveDialog id={id} reasons={head.reasons} onClose={() => setRemoving(false)} /> : null}
    </>
  );
}

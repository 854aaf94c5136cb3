// The buttons under the channel list: add, test all, test disabled, delete disabled, refresh (spec §2).
import { DeleteOutlined, PlusOutlined, ReloadOutlined, ThunderboltOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { invalidate, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { channelApi } from "#contract/channel.ts";

const LISTS = [channelApi.list, channelApi.search] as const;

function TestRun({ scope, label }: { readonly scope: "all" | "disabled"; readonly label: string }) {
  const run = useCall(channelApi.testAll, {
    onSuccess: () => toast.info(`已开始${label}，完成后请刷新列表查看结果。`),
  });
  return (
    <Button
      icon={<ThunderboltOutlined aria-hidden="true" />}
      loading={run.isPending}
      onClick={() => run.mutate({ query: { scope } })}
    >
      {label}
    </Button>
  );
}

function RemoveDisabled() {
  const remove = useCall(channelApi.removeDisabled, {
    invalidates: LISTS,
    onSuccess: (count) => toast.success(`已删除所有禁用渠道，共计 ${count} 个`),
  });
  return (
    <ConfirmButton
      icon={<DeleteOutlined aria-hidden="true" />}
      danger
      loading={remove.isPending}
      question="删除所有已禁用的渠道，包括手动与自动禁用的？此操作无法撤销。"
      confirmText="确认删除"
      onConfirm={() => remove.mutate({})}
    >
      删除禁用渠道
    </ConfirmButton>
  );
}

export function ChannelFooter() {
  const client = useQueryClient();
  return (
    <>
      <LinkButton to="/channel/add" icon={<PlusOutlined aria-hidden="true" />}>
        添加新的渠道
      </LinkButton>
      <TestRun scope="all" label="测试所有渠道" />
      <TestRun scope="disabled" label="测试禁用渠道" />
      <RemoveDisabled />
      <Button icon={<ReloadOutlined aria-hidden="true" />} onClick={() => void invalidate(client, LISTS)}>
        刷新
      </Button>
    </>
  );
}

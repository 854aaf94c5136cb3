// The buttons under the channel list: add, test all, test disabled, delete disabled, refresh (spec §2).
import { DeleteOutlined, PlusOutlined, ReloadOutlined, ThunderboltOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useEffect, useState } from "react";
import { invalidate, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { channelApi } from "#contract/channel.ts";

const LISTS = [channelApi.list, channelApi.search] as const;

/** How often the list is read while channels are tested, and for how long: nobody tells when the tests have ended. */
const FOLLOW_EVERY_MS = 5_000;
const FOLLOW_FOR_MS = 300_000;

/** What it returns makes the list follow what becomes of the channels, for a while. */
function useFollow(): () => void {
  const client = useQueryClient();
  const [startedMs, setStartedMs] = useState(0);
  useEffect(() => {
    if (startedMs === 0) return;
    const timer = setInterval(() => {
      if (Date.now() - startedMs > FOLLOW_FOR_MS) clearInterval(timer);
      void invalidate(client, LISTS);
    }, FOLLOW_EVERY_MS);
    return () => clearInterval(timer);
  }, [client, startedMs]);
  return () => setStartedMs(Date.now());
}

function TestRun({ scope, label }: { readonly scope: "all" | "disabled"; readonly label: string }) {
  const follow = useFollow();
  const run = useCall(channelApi.testAll, {
    onSuccess: () => {
      toast.info(`已开始${label}，结果会陆续显示在列表中。`);
      follow();
    },
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

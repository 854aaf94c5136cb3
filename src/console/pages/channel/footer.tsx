// The buttons under the channel list: add, test all, test disabled, delete disabled, refresh (requirements B2).
import { DeleteOutlined, PlusOutlined, ReloadOutlined, ThunderboltOutlined } from "@ant-design/icons";
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useEffect, useState } from "react";
import { invalidate, useCall } from "#console/base/call.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { channelApi } from "#contract/channel.ts";
import type { AnswerOf } from "#contract/endpoint.ts";
import { LISTS } from "./stale.ts";

type ListAnswer = AnswerOf<typeof channelApi.list>;

/** How often the list is read while channels are tested, and for how long at most: not every server tells when the tests have ended. */
const FOLLOW_EVERY_MS = 5_000;
const FOLLOW_FOR_MS = 300_000;

/** Whether a list that was asked for since then says that no tests go on. */
function haveEnded(client: QueryClient, sinceMs: number): boolean {
  return LISTS.flatMap(({ path }) =>
    client.getQueryCache().findAll({ queryKey: [path], type: "active" }),
  ).some(
    // The key says which request the answer belongs to.
    ({ state }) => state.dataUpdatedAt >= sinceMs && (state.data as ListAnswer).testing === false,
  );
}

/** What it returns makes the list follow what becomes of the channels, until their tests have ended. */
function useFollow(): () => void {
  const client = useQueryClient();
  const [startedMs, setStartedMs] = useState(0);
  useEffect(() => {
    if (startedMs === 0) return;
    const follow = async () => {
      const askedMs = Date.now();
      if (askedMs - startedMs > FOLLOW_FOR_MS) clearInterval(timer);
      await invalidate(client, LISTS);
      if (haveEnded(client, askedMs)) clearInterval(timer);
    };
    const timer = setInterval(() => void follow(), FOLLOW_EVERY_MS);
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
  const mayWrite = useMay("channel.write");
  const mayTest = useMay("channel.test");
  const mayDelete = useMay("channel.delete");
  const client = useQueryClient();
  return (
    <>
      {mayWrite ? (
        <LinkButton to="/channel/add" icon={<PlusOutlined aria-hidden="true" />}>
          添加新的渠道
        </LinkButton>
      ) : null}
      {mayTest ? <TestRun scope="all" label="测试所有渠道" /> : null}
      {mayTest ? <TestRun scope="disabled" label="测试禁用渠道" /> : null}
      {mayDelete ? <RemoveDisabled /> : null}
      <Button icon={<ReloadOutlined aria-hidden="true" />} onClick={() => void invalidate(client, LISTS)}>
        刷新
      </Button>
    </>
  );
}

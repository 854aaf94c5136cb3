// What can be done to the chosen channels at once: enable, disable, test, delete. One after the other, with progress.
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { useState } from "react";
import { runAll, tellBulk } from "#console/base/bulk.ts";
import { call, invalidate } from "#console/base/call.ts";
import { hideRow, patchRow } from "#console/base/rows.ts";
import { TypedConfirm } from "#console/ui/typed-confirm.tsx";
import { type Channel, ChannelStatus, channelApi } from "#contract/channel.ts";
import type { ChannelTest } from "./test-button.tsx";

const LISTS = [channelApi.list, channelApi.search] as const;

interface Run {
  readonly verb: string;
  readonly behind: number;
  readonly all: number;
}

/** Acts on all chosen channels and tells how it went. `run` is what is under way. */
function useBulk() {
  const client = useQueryClient();
  const [run, setRun] = useState<Run>();
  const start = async (
    verb: string,
    channels: readonly Channel[],
    act: (channel: Channel) => Promise<unknown>,
  ) => {
    const all = channels.length;
    const result = await runAll(channels, act, (behind) => setRun({ verb, behind, all }));
    setRun(undefined);
    tellBulk(verb, "渠道", result);
    await invalidate(client, LISTS);
  };
  const setStatus = (verb: string, channels: readonly Channel[], status: number) =>
    start(verb, channels, async ({ id }) => {
      await call(channelApi.update, { body: { id, key: "", status } });
      patchRow(client, LISTS, { id, ...{ status } });
    });
  const remove = (channels: readonly Channel[]) =>
    start("删除", channels, async ({ id }) => {
      await call(channelApi.remove, { params: { id } });
      hideRow(client, LISTS, id);
    });
  return { run, start, setStatus, remove };
}

export interface BulkActionsProps {
  readonly channels: readonly Channel[];
  readonly test: ChannelTest;
  readonly onDone: () => void;
}

export function BulkActions({ channels, test, onDone }: BulkActionsProps) {
  const { run, start, setStatus, remove } = useBulk();
  const [isAsking, setAsking] = useState(false);
  const button = (verb: string, act: () => Promise<void> | void) => (
    <Button
      size="small"
      danger={verb === "删除"}
      disabled={run !== undefined && run.verb !== verb}
      loading={run?.verb === verb}
      onClick={() => void act()}
    >
      {run?.verb === verb ? `${verb} ${run.behind + 1}/${run.all}` : verb}
    </Button>
  );
  return (
    <>
      {button("启用", () => setStatus("启用", channels, ChannelStatus.enabled))}
      {button("禁用", () => setStatus("禁用", channels, ChannelStatus.disabled))}
      {button("测试", () => start("测试", channels, (channel) => test.probe(channel, "")))}
      {button("删除", () => setAsking(true))}
      {isAsking ? (
        <TypedConfirm
          title={`删除 ${channels.length} 个渠道？`}
          expected="删除"
          confirmText="确认删除"
          onConfirm={() => {
            setAsking(false);
            void remove(channels).then(onDone);
          }}
          onClose={() => setAsking(false)}
        >
          将删除：{channels.map((channel) => channel.name).join("、")}。此操作无法撤销。
        </TypedConfirm>
      ) : null}
    </>
  );
}

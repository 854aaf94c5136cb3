// Tests a channel with a model of choice and shows how it went beside the button.
import { CheckCircleFilled, CloseCircleFilled, DownOutlined } from "@ant-design/icons";
import { useQueryClient } from "@tanstack/react-query";
import { Button, Space } from "antd";
import { useState } from "react";
import { call, invalidate } from "#console/base/call.ts";
import { faultText, handleFault } from "#console/base/faults.ts";
import { patchRow } from "#console/base/rows.ts";
import { toast } from "#console/base/toast.ts";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { type Channel, channelApi } from "#contract/channel.ts";
import type { Endpoint } from "#contract/endpoint.ts";

export type TestResult =
  | { readonly kind: "running" }
  | { readonly kind: "passed"; readonly text: string }
  | { readonly kind: "failed"; readonly text: string };

export interface ChannelTest {
  readonly results: Readonly<Record<number, TestResult>>;
  /** Tests and tells how it went. */
  readonly run: (channel: Channel, model: string) => Promise<void>;
  /** Tests silently. Throws: what the test failed with. Returns how it went in words. */
  readonly probe: (channel: Channel, model: string) => Promise<string>;
}

/** Runs tests and remembers the last result of each channel. A test of "" lets the server choose the model. */
export function useChannelTest(lists: readonly Endpoint[]): ChannelTest {
  const client = useQueryClient();
  const [results, setResults] = useState<Readonly<Record<number, TestResult>>>({});
  const note = (id: number, result: TestResult) => setResults((current) => ({ ...current, [id]: result }));
  const probe = async (channel: Channel, model: string) => {
    note(channel.id, { kind: "running" });
    try {
      const input = { params: { id: channel.id }, query: { model } };
      const { time, modelName } = await call(channelApi.test, input);
      const used = modelName ?? model;
      const text = `${used === "" ? "" : `模型 ${used}，`}耗时 ${time.toFixed(2)} 秒`;
      note(channel.id, { kind: "passed", text });
      patchRow(client, lists, { id: channel.id, ...timesOf(time) });
      return text;
    } catch (error) {
      note(channel.id, { kind: "failed", text: faultText(error) });
      throw error;
    }
  };
  const run = async (channel: Channel, model: string) => {
    try {
      toast.success(`渠道 ${channel.name} 测试成功，${await probe(channel, model)}。`);
    } catch (error) {
      handleFault(error);
    }
    await invalidate(client, lists);
  };
  return { results, run, probe };
}

/** The fields of the row that a passed test of `seconds` changes. */
function timesOf(seconds: number): Pick<Channel, "response_time" | "test_time"> {
  return { response_time: Math.round(seconds * 1000), test_time: Math.floor(Date.now() / 1000) };
}

function ResultSign({ result }: { readonly result: TestResult | undefined }) {
  if (result === undefined || result.kind === "running") return null;
  const isPassed = result.kind === "passed";
  return (
    <Tooltip title={result.text}>
      {isPassed ? (
        <CheckCircleFilled className="tg-test-passed" aria-label={`测试成功：${result.text}`} />
      ) : (
        <CloseCircleFilled className="tg-test-failed" aria-label={`测试失败：${result.text}`} />
      )}
    </Tooltip>
  );
}

export function TestButton({ channel, test }: { readonly channel: Channel; readonly test: ChannelTest }) {
  const result = test.results[channel.id];
  const isRunning = result?.kind === "running";
  const items = channel.models.map((model) => ({
    key: model,
    label: <span className="tg-code">{model}</span>,
  }));
  return (
    <Space size={4}>
      <Space.Compact size="small">
        <Button size="small" loading={isRunning} onClick={() => void test.run(channel, "")}>
          测试
        </Button>
        <ButtonMenu
          disabled={isRunning}
          menu={{ items, className: "tg-test-models", onClick: ({ key }) => void test.run(channel, key) }}
        >
          <Button
            size="small"
            icon={<DownOutlined aria-hidden="true" />}
            aria-label={`选择模型测试渠道 ${channel.name}`}
          />
        </ButtonMenu>
      </Space.Compact>
      <span className="tg-test-sign">
        <ResultSign result={result} />
      </span>
    </Space>
  );
}

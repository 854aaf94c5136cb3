// What a conversation runs with: token, model, system prompt, parameters.
import { useQuery } from "@tanstack/react-query";
import { Input, Select } from "antd";
import { type ReactNode, useId } from "react";
import { query } from "#console/base/call.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { modelList } from "#contract/model-list.ts";
import { statusApi } from "#contract/status.ts";
import { type Token, TokenStatus, tokenApi } from "#contract/token.ts";

export interface SetupValues {
  readonly tokenId: number | undefined;
  readonly model: string | undefined;
  readonly system: string;
  readonly temperature: number | null;
  readonly maxTokens: number | null;
}

export const EMPTY_SETUP: SetupValues = {
  tokenId: undefined,
  model: undefined,
  system: "",
  temperature: null,
  maxTokens: null,
};

/** The user's own tokens that can be used now, newest first. */
export function useUsableTokens() {
  const tokens = useQuery(query(tokenApi.list, { query: { p: 0, size: 100 } }));
  const usable = tokens.data?.data.filter((token) => token.status === TokenStatus.enabled);
  return { tokens: usable, error: tokens.error, retry: () => void tokens.refetch() };
}

/** Models that both the group and the token allow. */
export function useModels(token: Token | undefined): readonly string[] {
  const available = useQuery({ ...query(statusApi.availableModels, {}), staleTime: 60_000 });
  const allowed = modelList((token?.models ?? "").split(",").filter((entry) => entry !== ""));
  const models = available.data ?? [];
  return allowed === undefined ? models : models.filter((model) => allowed.has(model));
}

function Field({
  label,
  help,
  children,
}: {
  readonly label: string;
  readonly help?: string;
  readonly children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="tg-play-field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {help === undefined ? null : <p>{help}</p>}
    </div>
  );
}

export interface SetupPanelProps {
  readonly values: SetupValues;
  readonly tokens: readonly Token[];
  readonly models: readonly string[];
  readonly onChange: (values: SetupValues) => void;
}

export function SetupPanel({ values, tokens, models, onChange }: SetupPanelProps) {
  const set = (change: Partial<SetupValues>) => onChange({ ...values, ...change });
  return (
    <>
      <Field label="令牌" help="调用会计入这个令牌与你的账户。">
        {(id) => (
          <Select<number | null>
            id={id}
            value={values.tokenId ?? null}
            options={tokens.map((token) => ({ value: token.id, label: token.name || `令牌 ${token.id}` }))}
            onChange={(tokenId) => set({ tokenId: tokenId ?? undefined })}
          />
        )}
      </Field>
      <Field label="模型">
        {(id) => (
          <Select<string | null>
            id={id}
            showSearch
            value={values.model ?? null}
            placeholder="选择模型"
            notFoundContent="没有可用的模型"
            options={models.map((model) => ({ value: model, label: model }))}
            onChange={(model) => set({ model: model ?? undefined })}
          />
        )}
      </Field>
      <Field label="系统提示词">
        {(id) => (
          <Input.TextArea
            id={id}
            value={values.system}
            autoSize={{ minRows: 2, maxRows: 8 }}
            placeholder="可选，例如：回答尽量简短"
            onChange={(event) => set({ system: event.target.value })}
          />
        )}
      </Field>
      <div className="tg-play-pair">
        <Field label="温度">
          {(id) => (
            <NumberInput
              id={id}
              min={0}
              max={2}
              step={0.1}
              value={values.temperature}
              placeholder="默认"
              onChange={(temperature) => set({ temperature })}
            />
          )}
        </Field>
        <Field label="最大输出 tokens">
          {(id) => (
            <NumberInput
              id={id}
              min={1}
              precision={0}
              value={values.maxTokens}
              placeholder="默认"
              onChange={(maxTokens) => set({ maxTokens })}
            />
          )}
        </Field>
      </div>
      <p className="tg-muted tg-play-note">留空的参数由上游决定。对话只保存在此页面，刷新后消失。</p>
    </>
  );
}

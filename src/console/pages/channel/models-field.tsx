// The models of a channel: grouped multi-select with search, fill buttons and names typed by hand.
import { useQuery } from "@tanstack/react-query";
import { Button, Form, Input, Select, Space } from "antd";
import { useState } from "react";
import { Link } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { useModelsByType } from "#console/base/models.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { clearable } from "#console/ui/clearable.tsx";
import { channelApi } from "#contract/channel.ts";
import { optionApi } from "#contract/option.ts";
import { providerOf } from "#contract/providers.ts";
import { rewriteOf } from "./rewrite-values.ts";
import { type ChannelValues, keysOf, mergeModels, proxyOf, typedModels, unpricedModels } from "./values.ts";

const optionsQuery = { ...query(optionApi.list, {}), staleTime: 30_000, meta: { silent: true } };
/** More names than these are only counted. */
const NAMED = 8;

function UnpricedNote({ models }: { readonly models: readonly string[] }) {
  // Asked for without the right it would stand in the audit log as an attempt.
  const options = useQuery({ ...optionsQuery, enabled: useMay("option.read") });
  const mapping = Form.useWatch<ChannelValues["model_mapping"] | undefined>("model_mapping") ?? "";
  const unpriced = options.data === undefined ? [] : unpricedModels({ models, mapping }, options.data);
  if (unpriced.length === 0) return null;
  const names = unpriced.slice(0, NAMED).map((model) => (
    <code key={model} className="tg-code">
      {model}
    </code>
  ));
  return (
    <Callout tone="warn">
      <p className="tg-unpriced">
        {formatCount(unpriced.length)} 个模型还没有价格，调用会被拒绝（400）：{names}
        {unpriced.length > NAMED ? "等" : null}
        {/* A tab of its own: the form is not lost. */}
        <Link to="/price?view=unpriced" target="_blank">
          设置价格
        </Link>
      </p>
    </Callout>
  );
}

export interface ModelsFieldProps {
  readonly id?: string;
  /** Given by Form.Item. */
  readonly value?: readonly string[];
  readonly onChange?: (models: readonly string[]) => void;
  readonly type: number;
  /** undefined = a new channel. */
  readonly channelId: number | undefined;
}

interface Option {
  readonly value: string;
  readonly label: string;
}

interface OptionGroup {
  readonly label: string;
  readonly options: Option[];
}

const optionOf = (model: string): Option => ({ value: model, label: model });

interface Known {
  /** What the upstream said it has; empty until it was asked. */
  readonly upstream: readonly string[];
  readonly related: readonly string[];
  readonly all: readonly { id: string; owned_by: string }[];
}

/** The upstream's own first, then related models, then the rest by owner; names chosen by hand last. */
function groupsOf({ upstream, related, all }: Known, chosen: readonly string[]): OptionGroup[] {
  const fresh = related.filter((model) => !upstream.includes(model));
  const placed = new Set([...upstream, ...fresh]);
  const owners = new Map<string, Option[]>();
  for (const { id, owned_by } of all) {
    if (placed.has(id)) continue;
    placed.add(id);
    owners.set(owned_by, [...(owners.get(owned_by) ?? []), optionOf(id)]);
  }
  const own = chosen.filter((model) => !placed.has(model));
  return [
    { label: "上游模型", options: upstream.map(optionOf) },
    { label: "相关模型", options: fresh.map(optionOf) },
    ...[...owners].map(([label, options]) => ({ label, options })),
    { label: "自定义模型", options: own.map(optionOf) },
  ].filter((group) => group.options.length > 0);
}

function CustomModel({ onAdd }: { readonly onAdd: (names: readonly string[]) => void }) {
  const [text, setText] = useState("");
  const add = () => {
    onAdd(typedModels(text));
    setText("");
  };
  return (
    <Space.Compact className="tg-custom-model">
      <Input
        value={text}
        aria-label="自定义模型名称"
        placeholder="输入自定义模型名称"
        onChange={(event) => setText(event.target.value)}
        onPressEnter={(event) => {
          event.preventDefault();
          add();
        }}
      />
      <Button onClick={add} disabled={typedModels(text).length === 0}>
        填入
      </Button>
    </Space.Compact>
  );
}

/** Asks the upstream with what the form holds now; a stored channel is asked with its stored key. */
function useUpstreamModels(type: number, channelId: number | undefined) {
  const form = Form.useFormInstance<ChannelValues>();
  const ask = useCall(channelApi.upstreamModels, {
    onSuccess: (models) => toast.success(`上游提供 ${formatCount(models.length)} 个模型，已列在选择框最前面`),
  });
  const start = () => {
    const values: ChannelValues = form.getFieldsValue(true);
    const { key = "", base_url = "", other = "" } = values;
    const [first = ""] = keysOf(key);
    const stored = channelId === undefined ? {} : { id: channelId };
    const proxy = proxyOf(values);
    ask.mutate({
      body: {
        ...{ ...stored, type, key: first, base_url: base_url.trim(), other: other.trim(), proxy },
        rewrite: rewriteOf(values),
      },
    });
  };
  return { models: ask.data ?? [], isAsking: ask.isPending, start };
}

interface FillProps {
  readonly known: Known;
  readonly value: readonly string[];
  readonly change: (models: readonly string[]) => void;
}

/** The buttons that put many names in at once. */
function FillButtons({ known, value, change }: FillProps) {
  const { related, all } = known;
  const fills = [
    { label: "填入相关模型", models: related },
    { label: "填入所有模型", models: all.map((model) => model.id) },
  ];
  return (
    <>
      {fills.map(({ label, models }) => (
        <Button
          key={label}
          size="small"
          disabled={models.length === 0}
          onClick={() => change(mergeModels(value, models))}
        >
          {label}
        </Button>
      ))}
      <Button size="small" disabled={value.length === 0} onClick={() => change([])}>
        清除所有模型
      </Button>
    </>
  );
}

export function ModelsField({ id, value = [], onChange, type, channelId }: ModelsFieldProps) {
  const byType = useModelsByType();
  const builtIn = useQuery({ ...query(channelApi.models, {}), staleTime: Number.POSITIVE_INFINITY });
  const upstream = useUpstreamModels(type, channelId);
  const related = byType[String(type)] ?? [];
  const known = { upstream: upstream.models, related, all: builtIn.data?.data ?? [] };
  const change = (models: readonly string[]) => onChange?.(models);
  return (
    <div className="tg-models">
      <Select<string[], Option | OptionGroup>
        {...(id === undefined ? {} : { id })}
        mode="multiple"
        value={[...value]}
        onChange={change}
        options={groupsOf(known, value)}
        loading={builtIn.isPending}
        allowClear={clearable}
        placeholder="搜索并选择此渠道支持的模型"
        maxTagCount={40}
        maxTagPlaceholder={(hidden) => `另有 ${hidden.length} 个`}
        listHeight={320}
      />
      <div className="tg-form-inline">
        <FillButtons known={known} value={value} change={change} />
        <Button size="small" loading={upstream.isAsking} onClick={upstream.start}>
          获取上游模型
        </Button>
        {upstream.models.length === 0 ? null : (
          <Button size="small" onClick={() => change(mergeModels(value, upstream.models))}>
            填入上游模型
          </Button>
        )}
        {channelId === undefined ? null : (
          <Link to={`/channel/models/${channelId}`} target="_blank">
            与上游比较
          </Link>
        )}
        <span className="tg-muted tg-models-count">
          已选 {formatCount(value.length)} 个 · {providerOf(type)?.label ?? "此类型"} 有 {related.length}{" "}
          个相关模型
        </span>
      </div>
      <CustomModel onAdd={(names) => change(mergeModels(value, names))} />
      <UnpricedNote models={value} />
    </div>
  );
}

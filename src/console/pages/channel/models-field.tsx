// The models of a channel: grouped multi-select with search, fill buttons and names of one's own.
import { useQuery } from "@tanstack/react-query";
import { Button, Input, Select, Space } from "antd";
import { useState } from "react";
import { query } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { useModelsByType } from "#console/base/models.ts";
import { channelApi } from "#contract/channel.ts";
import { providerOf } from "#contract/providers.ts";
import { mergeModels, typedModels } from "./values.ts";

export interface ModelsFieldProps {
  readonly id?: string;
  /** Given by Form.Item. */
  readonly value?: readonly string[];
  readonly onChange?: (models: readonly string[]) => void;
  readonly type: number;
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

/** Related models first, then the rest by owner; names chosen by hand last. */
function groupsOf(
  related: readonly string[],
  all: readonly { id: string; owned_by: string }[],
  chosen: readonly string[],
): OptionGroup[] {
  const placed = new Set(related);
  const owners = new Map<string, Option[]>();
  for (const { id, owned_by } of all) {
    if (placed.has(id)) continue;
    placed.add(id);
    owners.set(owned_by, [...(owners.get(owned_by) ?? []), optionOf(id)]);
  }
  const own = chosen.filter((model) => !placed.has(model));
  return [
    { label: "相关模型", options: related.map(optionOf) },
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

export function ModelsField({ id, value = [], onChange, type }: ModelsFieldProps) {
  const byType = useModelsByType();
  const builtIn = useQuery({ ...query(channelApi.models, {}), staleTime: Number.POSITIVE_INFINITY });
  const all = builtIn.data?.data ?? [];
  const related = byType[String(type)] ?? [];
  const change = (models: readonly string[]) => onChange?.(models);
  return (
    <div className="tg-models">
      <Select<string[], Option | OptionGroup>
        {...(id === undefined ? {} : { id })}
        mode="multiple"
        value={[...value]}
        onChange={change}
        options={groupsOf(related, all, value)}
        loading={builtIn.isPending}
        allowClear
        placeholder="搜索并选择此渠道支持的模型"
        maxTagCount={40}
        maxTagPlaceholder={(hidden) => `另有 ${hidden.length} 个`}
        listHeight={320}
      />
      <div className="tg-form-inline">
        <Button
          size="small"
          disabled={related.length === 0}
          onClick={() => change(mergeModels(value, related))}
        >
          填入相关模型
        </Button>
        <Button
          size="small"
          disabled={all.length === 0}
          onClick={() =>
            change(
              mergeModels(
                value,
                all.map((model) => model.id),
              ),
            )
          }
        >
          填入所有模型
        </Button>
        <Button size="small" disabled={value.length === 0} onClick={() => change([])}>
          清除所有模型
        </Button>
        <span className="tg-muted tg-models-count">
          已选 {formatCount(value.length)} 个 · {providerOf(type)?.label ?? "此类型"} 有 {related.length}{" "}
          个相关模型
        </span>
      </div>
      <CustomModel onAdd={(names) => change(mergeModels(value, names))} />
    </div>
  );
}

// One rule of routing: its conditions and its effect as fields, its place among the others, and what it leaves of the channels there are.
import { Form, type FormInstance, Input, Select } from "antd";
import { formatCount } from "#console/base/format.ts";
import { Callout } from "#console/ui/callout.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Section } from "#console/ui/section.tsx";
import { RowButtons } from "./row-buttons.tsx";
import {
  hiddenBy,
  outcomeOf,
  type RuledChannel,
  type RulesForm,
  type RuleValues,
  ruleFault,
  ruleOf,
} from "./rule-values.ts";

/** What the fields offer. */
export interface RuleChoices {
  readonly groups: readonly string[];
  /** By id. */
  readonly teams: ReadonlyMap<number, string>;
  /** undefined = they are not known yet. */
  readonly channels: readonly RuledChannel[] | undefined;
}

export interface RuleCardProps {
  readonly form: FormInstance<RulesForm>;
  readonly at: number;
  readonly count: number;
  readonly choices: RuleChoices;
  readonly onMove: (to: number) => void;
  readonly onRemove: () => void;
}

/** So many channels or models are named; the others are counted. */
const SHOWN = 6;

function named(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).join("、");
  return names.length > SHOWN ? `${shown} 等 ${formatCount(names.length)} 个` : shown;
}

const labelOf = ({ id, name }: RuledChannel) => `#${id} ${name}`;

/** What the rule does, by the channels as they are now. */
function OutcomeText({
  rules,
  at,
  channels,
}: {
  rules: readonly RuleValues[];
  at: number;
  channels: readonly RuledChannel[];
}) {
  const all = rules.map(ruleOf);
  const rule = all[at];
  if (rule === undefined) return null;
  const earlier = hiddenBy(all, at);
  if (earlier !== undefined)
    return <Callout tone="warn">用不到：前面的规则“{earlier.name}”适用于所有请求。</Callout>;
  if ((rule.only ?? rule.avoid ?? []).length === 0) return null;
  const { able, excluded, lost } = outcomeOf(rule, channels);
  if (able.length === 0) return <Callout tone="warn">没有启用的渠道符合这些模型和分组。</Callout>;
  const count = formatCount(able.length);
  if (excluded.length === able.length)
    return <Callout tone="bad">{`符合条件的 ${count} 个启用渠道一个也不剩，符合的请求会返回 503。`}</Callout>;
  const what =
    excluded.length === 0
      ? `符合条件的 ${count} 个启用渠道都可用，没有排除。`
      : `符合条件的 ${count} 个启用渠道中排除 ${formatCount(excluded.length)} 个：${named(excluded.map(labelOf))}。`;
  if (lost.length === 0) return <Callout tone="info">{what}</Callout>;
  return (
    <Callout tone="warn">
      {what} {`以下模型在某个分组里不再有渠道：${named(lost)}。`}
    </Callout>
  );
}

/** Numbers that may be typed too: a team or a channel that is not in the list. */
function numbersOf(values: readonly unknown[]): number[] {
  return [...new Set(values.map(Number).filter((id) => Number.isInteger(id) && id > 0))];
}

function Conditions({
  at,
  choices,
  rulesFor,
}: Pick<RuleCardProps, "at" | "choices"> & { rulesFor: RulesFor }) {
  const models = [...new Set(choices.channels?.flatMap((channel) => channel.models))].toSorted();
  return (
    <>
      <div className="tg-form-row">
        <Form.Item
          name={[at, "models"]}
          label="模型"
          extra="末尾可用 *，例如 claude-*。"
          rules={rulesFor("models")}
        >
          <Select
            mode="tags"
            placeholder="所有模型"
            options={models.map((value) => ({ value, label: value }))}
          />
        </Form.Item>
        <Form.Item name={[at, "groups"]} label="分组" rules={rulesFor("groups")}>
          <Select
            mode="tags"
            placeholder="所有分组"
            options={choices.groups.map((value) => ({ value, label: value }))}
          />
        </Form.Item>
        <Form.Item
          name={[at, "teams"]}
          label="团队"
          extra="由团队付费的令牌；可输入团队 ID。"
          normalize={numbersOf}
          rules={rulesFor("teams")}
        >
          <Select
            mode="tags"
            placeholder="任意"
            showSearch={{ optionFilterProp: "label" }}
            options={[...choices.teams].map(([value, label]) => ({ value, label }))}
          />
        </Form.Item>
      </div>
      <div className="tg-form-row">
        <Form.Item name={[at, "kib_over"]} label="请求体大于（KiB）" rules={rulesFor("kib_over")}>
          <NumberInput min={0} precision={0} placeholder="任意" style={{ width: "100%" }} />
        </Form.Item>
        <Form.Item name={[at, "kib_up_to"]} label="请求体不超过（KiB）" rules={rulesFor("kib_up_to")}>
          <NumberInput min={0} precision={0} placeholder="任意" style={{ width: "100%" }} />
        </Form.Item>
      </div>
    </>
  );
}

type RulesFor = (field: keyof RuleValues) => { validator: () => Promise<void> }[];

export function RuleCard({ form, at, count, choices, onMove, onRemove }: RuleCardProps) {
  const rules = Form.useWatch("rules", form) ?? [];
  const name = rules[at]?.name?.trim() ?? "";
  const title = `第 ${at + 1} 条`;
  const rulesFor: RulesFor = (field) => [
    {
      validator: async () => {
        const fault = ruleFault(form.getFieldValue("rules"), at, field);
        if (fault !== undefined) throw new Error(fault);
      },
    },
  ];
  return (
    <Section
      title={
        <span className="tg-rule-head">
          {name === "" ? title : `${title}：${name}`}
          <RowButtons title={title} at={at} count={count} onMove={onMove} onRemove={onRemove} />
        </span>
      }
    >
      <Form.Item name={[at, "name"]} label="名称" rules={rulesFor("name")}>
        <Input autoComplete="off" maxLength={50} placeholder="例如：长文本" />
      </Form.Item>
      <Conditions at={at} choices={choices} rulesFor={rulesFor} />
      <div className="tg-form-row">
        <Form.Item name={[at, "effect"]} label="结果">
          <Select
            options={[
              { value: "only", label: "只用这些渠道" },
              { value: "avoid", label: "不用这些渠道" },
            ]}
          />
        </Form.Item>
        <Form.Item
          name={[at, "channels"]}
          validateTrigger={["onBlur", "onChange"]}
          label="渠道"
          normalize={numbersOf}
          rules={rulesFor("channels")}
        >
          <Select
            mode="tags"
            showSearch={{ optionFilterProp: "label" }}
            options={(choices.channels ?? []).map((channel) => ({
              value: channel.id,
              label: labelOf(channel),
            }))}
          />
        </Form.Item>
      </div>
      {choices.channels === undefined ? null : (
        <OutcomeText rules={rules} at={at} channels={choices.channels} />
      )}
    </Section>
  );
}

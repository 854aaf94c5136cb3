// The rules of routing (RouteRules) as a form, in their order, or as the JSON that is stored.
import { PlusOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Form, type FormInstance, Input, Segmented } from "antd";
import { useState } from "react";
import { call, formQuery, query, useCall } from "#console/base/call.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { useToList } from "#console/ui/form-way.ts";
import { Page } from "#console/ui/page.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { channelApi } from "#contract/channel.ts";
import { optionApi } from "#contract/option.ts";
import { routeApi } from "#contract/route.ts";
import { MOST_ROUTE_RULES } from "#contract/route-rule.ts";
import { statusApi } from "#contract/status.ts";
import { teamAdminApi } from "#contract/team.ts";
import { RuleCard, type RuleChoices } from "./rule-card.tsx";
import {
  NEW_RULE,
  type RuledChannel,
  type RulesForm,
  readRules,
  textFault,
  writeRules,
} from "./rule-values.ts";
import "./list.css";

/** Rows of a block of the list. */
const BLOCK = 1_000;
const SHOWN_TEAMS = 100;

/** All of them, by falling ids. */
async function allChannels({ signal }: { readonly signal: AbortSignal }): Promise<readonly RuledChannel[]> {
  const channels: RuledChannel[] = [];
  for (;;) {
    const before = channels.at(-1)?.id ?? 0;
    const { data } = await call(channelApi.list, { query: { export: true, before } }, signal);
    channels.push(...data);
    if (data.length < BLOCK) return channels.toSorted((one, other) => one.id - other.id);
  }
}

function useChoices(): RuleChoices {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  const mayTeams = useMay("team.read");
  const teams = useQuery({
    ...query(teamAdminApi.all, { query: { p: 0, size: SHOWN_TEAMS, keyword: "" } }),
    enabled: mayTeams,
  });
  const channels = useQuery({
    queryKey: [channelApi.list.path, "all"],
    queryFn: allChannels,
    enabled: useMay("channel.read"),
  });
  const open = (teams.data?.data ?? []).filter(({ closed_at }) => closed_at === 0);
  return {
    groups: groups.data ?? [],
    teams: new Map(open.map(({ id, name }) => [id, `#${id} ${name}`])),
    channels: channels.data,
  };
}

function RuleList({ form }: { readonly form: FormInstance<RulesForm> }) {
  const choices = useChoices();
  return (
    <Form.List name="rules">
      {(fields, { add, move, remove }) => (
        <>
          {fields.length === 0 ? (
            <Section title="没有规则">
              <p className="tg-muted">所有渠道都可以被选中。</p>
            </Section>
          ) : null}
          {fields.map(({ key, name }) => (
            <RuleCard
              key={key}
              form={form}
              at={name}
              count={fields.length}
              choices={choices}
              onMove={(to) => move(name, to)}
              onRemove={() => remove(name)}
            />
          ))}
          <div>
            <Button
              icon={<PlusOutlined aria-hidden="true" />}
              disabled={fields.length >= MOST_ROUTE_RULES}
              onClick={() => add(NEW_RULE)}
            >
              添加规则
            </Button>
          </div>
        </>
      )}
    </Form.List>
  );
}

function RuleText() {
  return (
    <Section title="JSON" lead="与“设置 → 运营设置”里的“按条件路由的规则”是同一份。">
      <Form.Item
        name="text"
        label="规则"
        rules={[
          {
            validator: async (_field, value: string) => {
              const fault = textFault(value);
              if (fault !== undefined) throw new Error(fault);
            },
          },
        ]}
      >
        <Input.TextArea className="tg-code" spellCheck={false} autoSize={{ minRows: 8, maxRows: 30 }} />
      </Form.Item>
    </Section>
  );
}

function Rules({ stored }: { readonly stored: string }) {
  const toList = useToList("/channel/route");
  const [isRaw, setRaw] = useState(false);
  const save = useCall(optionApi.update, {
    invalidates: [optionApi.list, routeApi.explain],
    onSuccess: () => toast.success("路由规则已保存！"),
  });
  const submit = ({ rules, text }: RulesForm) =>
    save.mutateAsync({ body: { key: "RouteRules", value: isRaw ? text : writeRules(rules) } });
  const choose = (form: FormInstance<RulesForm>, raw: boolean) => {
    if (raw) form.setFieldsValue({ text: writeRules(form.getFieldValue("rules")) });
    else {
      const rules = readRules(form.getFieldValue("text"));
      if (rules === undefined) {
        void form.validateFields(["text"]).catch(() => undefined);
        return;
      }
      form.setFieldsValue({ rules });
    }
    setRaw(raw);
  };
  return (
    <ResourceForm<RulesForm>
      initial={{ rules: readRules(stored) ?? [], text: stored }}
      onSubmit={submit}
      onCancel={toList}
      submitText="保存规则"
    >
      {(form) => (
        <>
          <Segmented
            className="tg-rule-mode"
            aria-label="编辑方式"
            value={isRaw ? "raw" : "form"}
            options={[
              { value: "form", label: "表单" },
              { value: "raw", label: "JSON" },
            ]}
            onChange={(next) => choose(form, next === "raw")}
          />
          {isRaw ? <RuleText /> : <RuleList form={form} />}
        </>
      )}
    </ResourceForm>
  );
}

export function RouteRulesPage() {
  const options = useQuery(formQuery(optionApi.list, {}));
  return (
    <Page
      width="form"
      lead="一次请求只按第一条符合的规则走：列出的条件须全部符合，不填的条件不限。规则没有留下渠道时返回 503，不会改用别的渠道。"
    >
      {options.data === undefined ? (
        <FormState error={options.error} onRetry={() => void options.refetch()} />
      ) : (
        <Rules stored={options.data.find(({ key }) => key === "RouteRules")?.value ?? "[]"} />
      )}
    </Page>
  );
}

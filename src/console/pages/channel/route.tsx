// The route explainer: for a token, a user or a group, a model and a format, what becomes of every channel and why (requirements C47).
import { useQuery } from "@tanstack/react-query";
import { Button, Form, Select } from "antd";
import { useSearchParams } from "react-router";
import { query } from "#console/base/call.ts";
import { useMay } from "#console/base/session.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { RELAY_ENDPOINTS } from "#contract/relay-endpoint.ts";
import { routeApi } from "#contract/route.ts";
import { Explained } from "./route-channels.tsx";
import { Decision } from "./route-decision.tsx";
import "./list.css";

const FORMATS = RELAY_ENDPOINTS.map(({ name, label, path }) => ({
  value: name,
  label: `${label}（${path}）`,
}));

interface Asked {
  readonly who: "token_id" | "user_id" | "group";
  readonly id: number | null;
  readonly group: string;
  readonly model: string;
  readonly format: string;
  /** Size of the request's body, for rules that go by it. */
  readonly kib: number;
}

/** What the address asks about; the log and other pages lead here by it. */
function askedIn(params: URLSearchParams): Asked {
  const who = params.has("token_id") ? "token_id" : params.has("user_id") ? "user_id" : "group";
  const id = who === "group" ? null : Number(params.get(who));
  const [group, model] = [params.get("group") ?? "default", params.get("model") ?? ""];
  return {
    who,
    id: id === 0 ? null : id,
    group,
    model,
    format: params.get("format") ?? "chat",
    kib: Number(params.get("kib") ?? 0),
  };
}

function paramsOf({ who, id, group, model, format, kib }: Asked): Record<string, string> {
  const subject = who === "group" ? { group: group.trim() } : { [who]: String(id ?? 0) };
  return { ...subject, model: model.trim(), format, ...(kib > 0 && { kib: String(kib) }) };
}

function AskForm({ asked, onAsk }: { readonly asked: Asked; readonly onAsk: (asked: Asked) => void }) {
  const [form] = Form.useForm<Asked>();
  const who = Form.useWatch("who", form) ?? asked.who;
  return (
    <Section title="问题" lead="以谁的身份、用什么接口调用哪个模型。">
      <Form<Asked> form={form} layout="vertical" initialValues={asked} onFinish={onAsk}>
        <div className="tg-form-row">
          <Form.Item name="who" label="身份">
            <Select
              options={[
                { value: "token_id", label: "令牌" },
                { value: "user_id", label: "用户" },
                { value: "group", label: "分组" },
              ]}
            />
          </Form.Item>
          {who === "group" ? (
            <TextField name="group" label="分组" maxLength={100} />
          ) : (
            <Form.Item
              name="id"
              label={who === "token_id" ? "令牌 ID" : "用户 ID"}
              rules={[{ required: true, message: "请填写 ID" }]}
            >
              <NumberInput min={1} precision={0} style={{ width: "100%" }} />
            </Form.Item>
          )}
        </div>
        <div className="tg-form-row">
          <TextField
            name="model"
            label="模型名称"
            rules={[{ required: true, whitespace: true, message: "请填写模型" }]}
            maxLength={200}
            placeholder="gpt-4o-mini"
          />
          <Form.Item name="format" label="接口">
            <Select options={FORMATS} showSearch={{ optionFilterProp: "label" }} />
          </Form.Item>
          <Form.Item name="kib" label="请求体大小（KiB）">
            <NumberInput min={0} precision={0} style={{ width: "100%" }} />
          </Form.Item>
        </div>
        <Button type="primary" htmlType="submit">
          解释
        </Button>
      </Form>
    </Section>
  );
}

function Answer({ asked }: { readonly asked: Asked }) {
  const { who, id, group, model, format, kib } = asked;
  const subject = who === "group" ? { group } : { [who]: id ?? 0 };
  const found = useQuery(query(routeApi.explain, { query: { ...subject, model, format, kib } }));
  if (found.isError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return null;
  const { data: first, further } = found.data;
  const groups = [first, ...further];
  return groups.map((explained, at) => (
    <Explained
      key={explained.group}
      explained={explained}
      format={format}
      place={further.length === 0 ? undefined : at}
    />
  ));
}

export function RouteExplainPage() {
  const [params, setParams] = useSearchParams();
  const asked = askedIn(params);
  const log = Number(params.get("log") ?? 0);
  const mayWrite = useMay("option.write");
  return (
    <Page
      title="路由解释"
      lead="请求会走哪个渠道、为什么；不走其他渠道又是为什么。判断与转发用的是同一段程序。"
      extra={mayWrite ? <LinkButton to="/channel/rules">路由规则</LinkButton> : undefined}
    >
      {log > 0 ? <Decision id={log} /> : null}
      <AskForm key={params.toString()} asked={asked} onAsk={(next) => setParams(paramsOf(next))} />
      {asked.model === "" ? null : <Answer asked={asked} />}
    </Page>
  );
}

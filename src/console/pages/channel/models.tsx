// The models of a channel beside those that its upstream lists: what is new, gone or spelt otherwise is taken over with one click, or waved
// aside (requirements C46).
import { useQuery } from "@tanstack/react-query";
import { Button, Checkbox, type TableColumnType } from "antd";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { query, useCall } from "#console/base/call.ts";
import { formatCount, formatTime } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { channelApi } from "#contract/channel.ts";
import { channelModelsApi, type ModelComparison } from "#contract/channel-models.ts";
import { OF_CHANNEL } from "./stale.ts";

const STALE = [channelModelsApi.get, ...OF_CHANNEL] as const;

/** One difference. */
interface News {
  readonly name: string;
  readonly kind: "add" | "rename" | "remove";
  /** Its models' calls of the last day. */
  readonly calls: number;
  readonly like: string;
  readonly upstream: string;
  /** It cannot be taken over now. */
  readonly isBarred: boolean;
}

function newsOf({ fresh, gone }: ModelComparison): News[] {
  return [
    ...fresh.map(
      ({ name, priced }): News => ({
        name,
        kind: "add",
        calls: 0,
        like: "",
        upstream: name,
        isBarred: !priced,
      }),
    ),
    ...gone.map(
      ({ calls, like, ...rest }): News => ({
        ...rest,
        calls,
        like,
        kind: like === "" ? "remove" : "rename",
        isBarred: like === "" && calls > 0,
      }),
    ),
  ];
}

const KINDS = {
  add: ["good", "新增"],
  rename: ["warn", "改了写法"],
  remove: ["bad", "上游没有"],
} as const;

function WhatHappens({ news: { kind, calls, like, upstream, name, isBarred } }: { readonly news: News }) {
  if (kind === "add")
    return isBarred ? (
      <>
        没有价格，调用会被拒绝；
        <Link to="/setting?tab=operation#model-ratio" target="_blank">
          设置价格
        </Link>
        后才能添加
      </>
    ) : (
      "添加到渠道的模型"
    );
  if (kind === "rename") return `重定向到上游的 ${like}，客户端仍用原来的名称`;
  const asked = upstream === name ? "" : `（请求上游的 ${upstream}）`;
  return calls > 0 ? `过去 24 小时有 ${formatCount(calls)} 次调用，不能移除${asked}` : `从渠道移除${asked}`;
}

interface NewsProps {
  readonly id: number;
  readonly news: readonly News[];
}

/** What is chosen at first: all that takes nothing away. */
function chosenAtFirst(news: readonly News[]): ReadonlySet<string> {
  return new Set(news.filter(({ kind, isBarred }) => kind !== "remove" && !isBarred).map(({ name }) => name));
}

interface NewsSheetProps {
  readonly news: readonly News[];
  /** undefined = this administrator decides nothing. */
  readonly chosen?: ReadonlySet<string>;
  readonly onToggle?: (name: string) => void;
}

/** On a telephone what taking it over does stands below the name, where it needs no scrolling. */
function NewsSheet({ news, chosen, onToggle }: NewsSheetProps) {
  const isNarrow = useMedia(NARROW);
  const choice: TableColumnType<News> = {
    title: "选择",
    key: "chosen",
    width: 56,
    render: (_, { name }) => (
      <Checkbox
        aria-label={`选择 ${name}`}
        checked={chosen?.has(name) ?? false}
        onChange={() => onToggle?.(name)}
      />
    ),
  };
  const what: TableColumnType<News> = {
    title: "采用后",
    key: "what",
    render: (_, one) => <WhatHappens news={one} />,
  };
  return (
    <Sheet<News>
      label="模型的变化"
      width={isNarrow ? 300 : 640}
      rowKey="name"
      rows={news}
      columns={[
        ...(chosen === undefined ? [] : [choice]),
        {
          title: "模型",
          dataIndex: "name",
          render: (name: string, one) => (
            <>
              <code className="tg-code">{name}</code>
              {isNarrow ? (
                <div className="tg-sheet-why">
                  <WhatHappens news={one} />
                </div>
              ) : null}
            </>
          ),
        },
        {
          title: "变化",
          dataIndex: "kind",
          render: (kind: News["kind"]) => <StatusTag tone={KINDS[kind][0]} label={KINDS[kind][1]} />,
        },
        ...(isNarrow ? [] : [what]),
      ]}
    />
  );
}

function NewsTable({ id, news }: NewsProps) {
  const mayWrite = useMay("channel.write");
  const [chosen, setChosen] = useState(() => chosenAtFirst(news));
  const apply = useCall(channelModelsApi.apply, { invalidates: STALE });
  const picked = news.filter(({ name }) => chosen.has(name));
  const usable = picked.filter(({ isBarred }) => !isBarred);
  const namesOf = (kind: News["kind"]) => usable.filter((one) => one.kind === kind).map(({ name }) => name);
  const take = () =>
    apply.mutate(
      {
        params: { id },
        body: { add: namesOf("add"), remove: namesOf("remove"), rename: namesOf("rename"), ignore: [] },
      },
      { onSuccess: () => toast.success(`已采用 ${formatCount(usable.length)} 项变化`) },
    );
  const wave = () =>
    apply.mutate(
      { params: { id }, body: { add: [], remove: [], rename: [], ignore: picked.map(({ name }) => name) } },
      { onSuccess: () => toast.success(`已忽略 ${formatCount(picked.length)} 项变化`) },
    );
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setChosen(next);
  };
  return (
    <>
      <NewsSheet news={news} {...(mayWrite && { chosen, onToggle: toggle })} />
      {mayWrite ? (
        <div className="tg-form-inline tg-models-decide">
          <Button type="primary" disabled={usable.length === 0} loading={apply.isPending} onClick={take}>
            采用所选（{formatCount(usable.length)}）
          </Button>
          <Button disabled={picked.length === 0 || apply.isPending} onClick={wave}>
            忽略所选（{formatCount(picked.length)}）
          </Button>
        </div>
      ) : null}
    </>
  );
}

function Comparison({ id, found }: { readonly id: number; readonly found: ModelComparison }) {
  const mayTest = useMay("channel.test");
  const check = useCall(channelModelsApi.check, { invalidates: STALE });
  const news = newsOf(found);
  const { checked_time: checked, total, problem } = found;
  const lead =
    checked === 0
      ? "还没有查询过上游。"
      : `上游列出 ${formatCount(total)} 个模型，${formatTime(checked)} 查询。没有你的确认，渠道的模型不会改变。`;
  return (
    <Section title="与上游的差异" lead={lead}>
      {problem === "" ? null : (
        <Callout tone="warn">
          {problem}
          {found.halved && mayTest ? (
            <Button
              size="small"
              type="link"
              loading={check.isPending}
              onClick={() => check.mutate({ params: { id }, body: { accept: true } })}
            >
              确认无误，采用新列表
            </Button>
          ) : null}
        </Callout>
      )}
      {news.length === 0 ? (
        <p className="tg-muted">{checked === 0 ? "点击“查询上游”开始比较。" : "没有差异。"}</p>
      ) : (
        <NewsTable key={news.map(({ name }) => name).join(",")} id={id} news={news} />
      )}
    </Section>
  );
}

export function ChannelModelsPage() {
  const id = Number(useParams()["channel"]);
  const mayTest = useMay("channel.test");
  const channel = useQuery({ ...query(channelApi.get, { params: { id } }), meta: { silent: true } });
  const found = useQuery(query(channelModelsApi.get, { params: { id } }));
  const check = useCall(channelModelsApi.check, { invalidates: STALE });
  return (
    <Page
      title={channel.data === undefined ? "上游模型" : `上游模型：${channel.data.name}`}
      isComing={channel.isPending}
      lead="上游新增、下架和改了写法的模型。第一次查询只记下列表，之后的新模型才算新增。"
      extra={
        mayTest ? (
          <Button
            type="primary"
            loading={check.isPending}
            onClick={() => check.mutate({ params: { id }, body: { accept: false } })}
          >
            查询上游
          </Button>
        ) : null
      }
    >
      {found.isError ? <ErrorState error={found.error} onRetry={() => void found.refetch()} /> : null}
      {found.data === undefined ? null : <Comparison id={id} found={found.data} />}
    </Page>
  );
}

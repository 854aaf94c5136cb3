// One act in full: who, from where, what it was done to, and each field before and after.

import { Drawer, Table } from "antd";
import { formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import type { AuditEntry } from "#contract/audit.ts";
import { AUDIT_ACTIONS, AUDIT_RESOURCES, auditActionText } from "#contract/audit-actions.ts";
import { type DetailField, detailFields, detailText } from "./audit-detail.ts";
import { ClippedText } from "./cell.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Facts } from "./facts.tsx";
import { useNamedScroll } from "./row-table.tsx";
import type { Column } from "./row-view.ts";
import "./audit-details.css";

/** An act as a list shows it; where it came from is the operator's to know. */
export type ShownAct = Omit<AuditEntry, OperatorsField> & Partial<Pick<AuditEntry, OperatorsField>>;
type OperatorsField = "address" | "request_id" | "hash";

function Code({ text }: { readonly text: string }) {
  return <code className="tg-audit-code">{text}</code>;
}

const NONE = <span className="tg-muted">—</span>;

function FieldTable({ fields }: { readonly fields: readonly DetailField[] }) {
  const box = useNamedScroll("操作内容");
  const hasOld = fields.some(({ before }) => before !== undefined);
  const cell = (text: string | undefined) => (text === undefined ? NONE : <Code text={text} />);
  return (
    <div ref={box}>
      <Table<DetailField>
        size="small"
        pagination={false}
        rowKey="name"
        dataSource={[...fields]}
        columns={[
          { title: "字段", dataIndex: "name", width: 128, render: (name: string) => <Code text={name} /> },
          ...(hasOld ? [{ title: "修改前", dataIndex: "before", render: cell }] : []),
          { title: hasOld ? "修改后" : "内容", dataIndex: "after", render: cell },
        ]}
      />
    </div>
  );
}

function Content({ detail }: { readonly detail: string }) {
  const fields = detailFields(detail);
  if (fields?.length === 0) return null;
  return (
    <section className="tg-audit-content">
      <h3>操作内容</h3>
      {fields === undefined ? <Code text={detail} /> : <FieldTable fields={fields} />}
    </section>
  );
}

export interface AuditDetailsProps {
  /** undefined = closed. */
  readonly entry: ShownAct | undefined;
  readonly onClose: () => void;
}

export function AuditDetails({ entry, onClose }: AuditDetailsProps) {
  const isNarrow = useMedia(NARROW);
  const { address = "", request_id: requestId = "", hash = "" } = entry ?? {};
  return (
    <Drawer title="操作详情" open={entry !== undefined} onClose={onClose} size={isNarrow ? "100%" : 560}>
      {entry === undefined ? null : (
        <>
          <Facts
            labelWidth={wide(80, 96)}
            facts={[
              ["编号", String(entry.id)],
              ["时间", formatTime(entry.created_at)],
              ["操作者", actorText(entry)],
              [
                "操作",
                <span key="action">
                  {auditActionText(entry.action)}（<Code text={entry.action} />）
                </span>,
              ],
              entry.target !== "" && ["对象", <Code key="target" text={entry.target} />],
              address !== "" && ["来源地址", <Code key="address" text={address} />],
              requestId !== "" && [
                "请求 ID",
                <span key="request" className="tg-audit-id">
                  <Code text={requestId} />
                  <CopyButton text={requestId} label="复制请求 ID" />
                </span>,
              ],
              hash !== "" && ["校验值", <Code key="hash" text={hash} />],
            ]}
          />
          <Content detail={entry.detail} />
        </>
      )}
    </Drawer>
  );
}

/** Who acted: a visitor without an account has neither name nor number. */
export function actorText({ actor_id, actor_name }: Pick<ShownAct, "actor_id" | "actor_name">): string {
  return actor_id === 0 && actor_name === "" ? "未登录" : `${actor_name}（#${actor_id}）`;
}

/** The choices of a list's filter: each resource as a whole, then its acts. */
export function actionChoices(isOffered: (action: string) => boolean = () => true) {
  const groups = Object.entries(AUDIT_RESOURCES).map(([head, label]) => ({
    label,
    options: Object.entries(AUDIT_ACTIONS)
      .filter(([action]) => action.startsWith(`${head}.`) && isOffered(action))
      .map(([value, text]) => ({ value, label: text })),
    whole: { value: head, label: `${label}：全部` },
  }));
  return [
    { value: "", label: "全部操作" },
    ...groups
      .filter(({ options }) => options.length > 0)
      .map(({ label, options, whole }) => ({ label, options: [whole, ...options] })),
  ];
}

/** When, who, what, and how it was before: the columns of every list of acts. */
export const ACT_COLUMNS = {
  time: { key: "created_at", title: "时间", shows: "time", isFixed: true, width: 160 },
  actor: {
    key: "actor_name",
    title: "操作者",
    width: 132,
    render: (row) => <ClippedText text={actorText(row)} />,
  },
  action: {
    key: "action",
    title: "操作",
    isInHead: true,
    width: wide(148, 170),
    render: (row) => <ClippedText text={auditActionText(row.action)} />,
  },
  target: { key: "target", title: "对象", shows: "text", width: 124 },
  detail: {
    key: "detail",
    title: "内容",
    width: 280,
    isGrowing: true,
    render: (row) => <ClippedText text={detailText(row.detail)} />,
  },
} as const satisfies Readonly<Record<string, Column<ShownAct>>>;

// One act in full: who, from where, what it was done to, and each field before and after.

import { Drawer, Table } from "antd";
import { formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { CopyButton } from "#console/ui/copy-button.tsx";
import { Facts } from "#console/ui/facts.tsx";
import { useNamedScroll } from "#console/ui/row-table.tsx";
import type { AuditEntry } from "#contract/audit.ts";
import { auditActionText } from "#contract/audit-actions.ts";
import { type DetailField, detailFields } from "./detail.ts";

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
  readonly entry: AuditEntry | undefined;
  readonly onClose: () => void;
}

export function AuditDetails({ entry, onClose }: AuditDetailsProps) {
  const isNarrow = useMedia(NARROW);
  return (
    <Drawer title="审计记录" open={entry !== undefined} onClose={onClose} size={isNarrow ? "100%" : 560}>
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
              entry.address !== "" && ["来源地址", <Code key="address" text={entry.address} />],
              entry.request_id !== "" && [
                "请求 ID",
                <span key="request" className="tg-audit-id">
                  <Code text={entry.request_id} />
                  <CopyButton text={entry.request_id} label="复制请求 ID" />
                </span>,
              ],
              ["校验值", <Code key="hash" text={entry.hash} />],
            ]}
          />
          <Content detail={entry.detail} />
        </>
      )}
    </Drawer>
  );
}

/** Who acted: a visitor without an account has neither name nor number. */
export function actorText({ actor_id, actor_name }: AuditEntry): string {
  return actor_id === 0 && actor_name === "" ? "未登录" : `${actor_name}（#${actor_id}）`;
}

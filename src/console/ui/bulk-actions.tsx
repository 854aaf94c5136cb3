// What can be done to the chosen rows of a list: one call after the other with progress, and each row that failed with its reason
// (requirements B11). Knows no resource.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Modal } from "antd";
import { useState } from "react";
import { type BulkFailure, bulkText, runAll } from "#console/base/bulk.ts";
import { invalidate } from "#console/base/call.ts";
import { may, useUser } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import type { Permission } from "#contract/permission.ts";
import { TypedConfirm } from "./typed-confirm.tsx";

export interface BulkAct<Row> {
  readonly verb: string;
  readonly act: (row: Row) => Promise<unknown>;
  /** Not offered to administrators who lack it. */
  readonly permission?: Permission;
  /** It cannot be taken back: the verb is typed first, and this is what is said then. */
  readonly warning?: string;
}

export interface BulkActionsProps<Row> {
  readonly rows: readonly Row[];
  readonly acts: readonly BulkAct<Row>[];
  /** What the rows are, as in 已删除 3 个渠道. */
  readonly noun: string;
  readonly nameOf: (row: Row) => string;
  /** What has to be asked anew afterwards. */
  readonly lists: readonly Endpoint[];
  /** Called when failures were read, with the rows that failed: they alone stay chosen. */
  readonly onDone: (failed: readonly Row[]) => void;
}

interface Run {
  readonly verb: string;
  readonly behind: number;
}

/** Which rows failed, and why each did. */
function FailureDialog<Row extends { readonly id: number }>({
  title,
  failures,
  nameOf,
  onClose,
}: {
  readonly title: string;
  readonly failures: readonly BulkFailure<Row>[];
  readonly nameOf: (row: Row) => string;
  readonly onClose: () => void;
}) {
  const close = (
    <Button type="primary" onClick={onClose}>
      知道了
    </Button>
  );
  return (
    <Modal open title={title} width={520} footer={close} onCancel={onClose}>
      <ul className="tg-bulk-failures">
        {failures.map(({ item, reason }) => (
          <li key={item.id}>
            <strong>{nameOf(item)}</strong>：{reason}
          </li>
        ))}
      </ul>
    </Modal>
  );
}

export function BulkActions<Row extends { readonly id: number }>(props: BulkActionsProps<Row>) {
  const { rows, acts, noun, nameOf, lists, onDone } = props;
  const client = useQueryClient();
  const user = useUser();
  const [run, setRun] = useState<Run>();
  const [asking, setAsking] = useState<BulkAct<Row>>();
  const [told, setTold] = useState<{ title: string; failures: readonly BulkFailure<Row>[] }>();
  const start = async ({ verb, act }: BulkAct<Row>) => {
    const result = await runAll(rows, act, (behind) => setRun({ verb, behind }));
    setRun(undefined);
    const title = bulkText(verb, noun, result);
    if (result.failures.length === 0) toast.success(title);
    else setTold({ title, failures: result.failures });
    // What was done stays chosen, for the next act; what was deleted is in the list no more.
    await invalidate(client, lists);
  };
  const offered = acts.filter(({ permission }) => permission === undefined || may(user, permission));
  return (
    <>
      {offered.map((act) => (
        <Button
          key={act.verb}
          size="small"
          danger={act.warning !== undefined}
          disabled={run !== undefined && run.verb !== act.verb}
          loading={run?.verb === act.verb}
          onClick={() => (act.warning === undefined ? void start(act) : setAsking(act))}
        >
          {run?.verb === act.verb ? `${act.verb} ${run.behind + 1}/${rows.length}` : act.verb}
        </Button>
      ))}
      {asking === undefined ? null : (
        <TypedConfirm
          title={`${asking.verb} ${rows.length} 个${noun}？`}
          expected={asking.verb}
          confirmText={`确认${asking.verb}`}
          onConfirm={() => {
            setAsking(undefined);
            void start(asking);
          }}
          onClose={() => setAsking(undefined)}
        >
          将{asking.verb}：{rows.map(nameOf).join("、")}。{asking.warning}
        </TypedConfirm>
      )}
      {told === undefined ? null : (
        <FailureDialog
          {...told}
          nameOf={nameOf}
          onClose={() => {
            setTold(undefined);
            onDone(told.failures.map(({ item }) => item));
          }}
        />
      )}
    </>
  );
}

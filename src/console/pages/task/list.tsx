// Tasks: what upstreams make in the background for calls. A user sees his own, an administrator those of all.
import { StopOutlined } from "@ant-design/icons";
import { Segmented } from "antd";
import { type Query, query, useCall } from "#console/base/call.ts";
import { useMay } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { Page } from "#console/ui/page.tsx";
import { type ListAnswer, ResourceTable } from "#console/ui/resource-table.tsx";
import type { CellProps, Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import { type ListInput, useAddress } from "#console/ui/table-state.ts";
import { type Task, taskApi } from "#contract/task.ts";
import type { TaskState } from "#contract/video.ts";
import "./list.css";

const STATES: Readonly<Record<TaskState, { readonly label: string; readonly tone: Tone }>> = {
  submitting: { label: "提交中", tone: "idle" },
  queued: { label: "排队中", tone: "idle" },
  in_progress: { label: "进行中", tone: "good" },
  completed: { label: "已完成", tone: "info" },
  failed: { label: "失败", tone: "bad" },
  cancelled: { label: "已取消", tone: "idle" },
};

const KINDS: Readonly<Record<Task["kind"], string>> = {
  video: "视频",
  response: "Responses",
  batch: "批处理",
};

function State({ row }: CellProps<Task>) {
  const { label, tone } = STATES[row.state];
  const isRunning = row.state === "in_progress" && row.progress > 0;
  const hint = row.message === "" ? {} : { hint: row.message };
  return <StatusTag tone={tone} label={isRunning ? `${label} ${row.progress}%` : label} {...hint} />;
}

/** What a card is about; of a failed task also why, since cards have no column for that. */
function cardTitle({ model, message }: Task) {
  if (message === "") return model;
  return (
    <>
      {model}
      <span className="tg-task-why">{message}</span>
    </>
  );
}

const OWN: readonly Column<Task>[] = [
  { key: "id", title: "ID", shows: "number", isNumber: true, width: 56 },
  { key: "model", title: "模型", shows: "text", isInHead: true, width: 120, isGrowing: true },
  { key: "kind", title: "类型", width: 80, cell: ({ row }) => KINDS[row.kind] },
  { key: "state", title: "状态", isInHead: true, width: 126, cell: State },
  { key: "message", title: "说明", shows: "text", none: "—", width: 136 },
  { key: "asked", title: "规格", shows: "text", width: 138 },
  { key: "quota", title: "费用", shows: "quota", isNumber: true, width: 88 },
  { key: "created_at", title: "提交时间", shows: "time", width: 160 },
  { key: "ended_at", title: "结束时间", shows: "time", none: "—", width: 166, isHiddenAtFirst: true },
  { key: "task_id", title: "任务编号", shows: "text", width: 220, isHiddenAtFirst: true },
];

const OF_ALL: readonly Column<Task>[] = [
  ...OWN.slice(0, 2),
  { key: "username", title: "用户", shows: "text", width: 84 },
  { key: "channel_name", title: "渠道", shows: "text", none: "—", width: 96 },
  ...OWN.slice(2),
];

function load(isAdmin: boolean, open: boolean) {
  return ({ keyword: _keyword, ...page }: ListInput): Query<ListAnswer<Task>> =>
    isAdmin
      ? query(taskApi.list, { query: { ...page, open } })
      : query(taskApi.listSelf, { query: { ...page, open } });
}

/** The cancelling of a row; an administrator who may write channels ends it though its upstream goes on. */
function useCancel(isAdmin: boolean): (row: Task) => void {
  const invalidates = [taskApi.list, taskApi.listSelf];
  const cancel = useCall(taskApi.cancel, { invalidates, onSuccess: () => toast.success("任务已取消！") });
  // A batch ends when its upstream has stopped.
  const onSuccess = () => toast.success("已请求取消！");
  const cancelSelf = useCall(taskApi.cancelSelf, { invalidates, onSuccess });
  return ({ id }) => (isAdmin ? cancel : cancelSelf).mutate({ params: { id } });
}

const FORCED = "任务立即结束，预扣的额度全额退回；上游若不接受取消，已产生的费用由渠道承担。";
const QUESTION = "上游接受取消时，预扣的额度全额退回；否则任务继续。";
const BATCH_QUESTION = "上游停止后结束：已完成的行照常收费，其余预扣的额度退回。";

export function TaskListPage() {
  const isAdmin = useMay("log.read");
  const mayEnd = useMay("channel.write");
  const [params, change] = useAddress();
  const isOpen = params.get("open") === "true";
  const cancel = useCancel(isAdmin);
  const actions = (row: Task): RowAction[] => {
    if (row.is_ended || (isAdmin && !mayEnd)) return [];
    return [
      {
        key: "cancel",
        label: "取消",
        icon: <StopOutlined aria-hidden="true" />,
        isDanger: true,
        confirmText: "确认取消",
        question: isAdmin ? FORCED : row.kind === "batch" ? BATCH_QUESTION : QUESTION,
        onClick: () => cancel(row),
      },
    ];
  };
  const filters = (
    <Segmented
      aria-label="显示哪些任务"
      value={isOpen}
      options={[
        { value: false, label: "全部" },
        { value: true, label: "进行中" },
      ]}
      onChange={(open) => change({ open: open ? "true" : "", page: "" })}
    />
  );
  return (
    <Page
      title="任务"
      lead="视频、批处理等由上游在后台完成的工作：提交时预扣，完成后结算一次，失败不收费。结束的任务保留 30 天。"
    >
      <ResourceTable<Task>
        name="task"
        label="任务列表"
        load={load(isAdmin, isOpen)}
        columns={isAdmin ? OF_ALL : OWN}
        actions={actions}
        actionsWidth={90}
        filters={filters}
        cardTitle={cardTitle}
        cardState={(row) => <State row={row} />}
        cardFacts={
          isAdmin
            ? ["username", "channel_name", "kind", "asked", "quota", "created_at"]
            : ["kind", "asked", "quota", "created_at"]
        }
        empty={{
          text: isOpen
            ? "没有进行中的任务。"
            : "还没有任务。通过 /v1/videos、/v1/batches 提交的任务会列在这里。",
        }}
      />
    </Page>
  );
}

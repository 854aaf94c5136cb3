// The projects of a team: what each spent in the last thirty days, and what it may.
import { PlusOutlined } from "@ant-design/icons";
import { Button, Form, Input } from "antd";
import { useState } from "react";
import { query, useCall } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { toast } from "#console/base/toast.ts";
import { boosted } from "#console/ui/boost-dialog.tsx";
import { closing } from "#console/ui/closing.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { ResourceTable, rowsOf } from "#console/ui/resource-table.tsx";
import { deleteAction } from "#console/ui/row-actions.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { mayIn } from "#console/ui/team-context.ts";
import { type Team, teamApi } from "#contract/team.ts";
import type { TeamProject } from "#contract/team-project.ts";
import { CapForm } from "./cap-form.tsx";
import { spendColumns } from "./cells.tsx";

const columns: readonly Column<TeamProject>[] = [
  { key: "name", title: "项目", isFixed: true, isInHead: true, width: 180, shows: "text" },
  { key: "tokens", title: "令牌", isNumber: true, width: 90, shows: "number" },
  ...spendColumns<TeamProject>(),
  { key: "created_at", title: "创建时间", width: 160, shows: "time" },
];

const LISTS = [teamApi.projects, teamApi.usage] as const;

interface DialogProps {
  readonly team: Team;
  /** undefined = a new one. */
  readonly project?: TeamProject;
  readonly onClose: () => void;
}

function NameDialog({ team, project, onClose }: DialogProps) {
  const done = closing(LISTS, "项目已保存！", onClose);
  const make = useCall(teamApi.makeProject, done);
  const rename = useCall(teamApi.renameProject, done);
  const params = { id: team.id };
  return (
    <FormDialog<{ name: string }>
      title={project === undefined ? "添加新的项目" : "修改项目名称"}
      width={420}
      okText="保存"
      isBusy={make.isPending || rename.isPending}
      initialValues={{ name: project?.name ?? "" }}
      onFinish={({ name }) =>
        project === undefined
          ? make.mutate({ params, body: { name } })
          : rename.mutate({ params, body: { project_id: project.id, name } })
      }
      onClose={onClose}
    >
      <Form.Item name="name" label="项目名称" rules={[required, rule(teamApi.makeProject.body.shape.name)]}>
        <Input maxLength={30} showCount />
      </Form.Item>
    </FormDialog>
  );
}

function ProjectCap({ team, project, onClose }: Required<DialogProps>) {
  const set = useCall(teamApi.setProjectLimits, closing(LISTS, "上限已保存", onClose));
  const boost = useCall(teamApi.boostProject, boosted(LISTS, onClose));
  return (
    <CapForm
      of={project.name}
      lead="该项目的令牌在一个周期内最多从钱包花费这么多，超出的调用会被拒绝；用到 80% 时发邮件提醒所有者。"
      limits={project.limits}
      isBusy={set.isPending}
      onSave={(limits) =>
        set.mutate({ params: { id: team.id }, body: { project_id: project.id, limits: [...limits] } })
      }
      isRaising={boost.isPending}
      onRaise={(body) => boost.mutate({ params: { id: team.id }, body: { ...body, project_id: project.id } })}
      onClose={onClose}
    />
  );
}

type Asked = { readonly what: "name" | "cap"; readonly project?: TeamProject };

export function Projects({ team }: { readonly team: Team }) {
  const [asked, setAsked] = useState<Asked>();
  const close = () => setAsked(undefined);
  const mayChange = mayIn(team, "projects");
  const remove = useCall(teamApi.closeProject, { invalidates: LISTS, onSuccess: () => toast.success() });
  const actions = (project: TeamProject): RowAction[] => [
    { key: "cap", label: "上限", onClick: () => setAsked({ what: "cap", project }) },
    { key: "name", label: "改名", onClick: () => setAsked({ what: "name", project }) },
    {
      ...deleteAction(
        () => remove.mutate({ params: { id: team.id }, query: { project_id: project.id } }),
        `删除项目“${project.name}”？已有的费用仍在报表中。`,
      ),
      isDisabled: project.tokens > 0,
    },
  ];
  const add = mayChange ? (
    <Button icon={<PlusOutlined aria-hidden="true" />} onClick={() => setAsked({ what: "name" })}>
      添加新的项目
    </Button>
  ) : null;
  return (
    <>
      {add === null ? null : <div className="tg-team-add">{add}</div>}
      <ResourceTable<TeamProject>
        name="team-project"
        label="团队的项目"
        load={() => rowsOf(query(teamApi.projects, { params: { id: team.id }, query: { days: 30 } }))}
        columns={columns}
        {...(mayChange && { actions })}
        actionsWidth={wide(200, 220)}
        cardTitle={(row) => row.name}
        cardFacts={["tokens", "spent", "requests", "limits"]}
        empty={{ text: "还没有项目。项目让令牌分开计费，各有上限；在令牌的表单里选择。" }}
      />
      {asked?.what === "name" ? (
        <NameDialog
          team={team}
          {...(asked.project !== undefined && { project: asked.project })}
          onClose={close}
        />
      ) : null}
      {asked?.what === "cap" && asked.project !== undefined ? (
        <ProjectCap team={team} project={asked.project} onClose={close} />
      ) : null}
    </>
  );
}

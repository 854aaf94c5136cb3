// The dialogs of a team: quota in and out, invitations, caps, removal.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Modal, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { newActKey } from "#console/base/once.ts";
import { selfQuery } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { AskDialog } from "#console/ui/ask-dialog.tsx";
import { boosted } from "#console/ui/boost-dialog.tsx";
import { closing } from "#console/ui/closing.ts";
import { CopyField } from "#console/ui/copy-button.tsx";
import { filled, required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { type Team, type TeamMember, teamApi } from "#contract/team.ts";
import type { TeamRole } from "#contract/team-words.ts";
import { CapForm } from "./cap-form.tsx";
import { givenBy, ROLE_HINTS, ROLE_LABELS } from "./words.ts";

interface DialogProps {
  readonly team: Team;
  readonly onClose: () => void;
}

function roleOptions(team: Team) {
  return givenBy(team.role).map((value) => ({ value, label: `${ROLE_LABELS[value]}：${ROLE_HINTS[value]}` }));
}

/** Quota from the own account into the wallet, or back. */
export function MoveDialog({ team, way, onClose }: DialogProps & { readonly way: "deposit" | "withdraw" }) {
  const client = useQueryClient();
  const [idempotencyKey] = useState(newActKey);
  const isIn = way === "deposit";
  const move = useCall(isIn ? teamApi.deposit : teamApi.withdraw, {
    invalidates: [teamApi.get, teamApi.list],
    onSuccess: () => {
      toast.success(isIn ? "已转入团队钱包" : "已转出到您的余额");
      void client.invalidateQueries({ queryKey: selfQuery.queryKey });
      onClose();
    },
  });
  return (
    <FormDialog<{ amount: number }>
      title={isIn ? "转入团队钱包" : "从钱包转出"}
      width={480}
      okText={isIn ? "转入" : "转出"}
      isBusy={move.isPending}
      lead={
        <p>
          {isIn
            ? "从您的个人余额转入，双方的日志与账本各有一条记录。"
            : "转到您的个人余额，双方的日志与账本各有一条记录。"}
        </p>
      }
      onFinish={(body) => move.mutate({ params: { id: team.id }, body, idempotencyKey })}
      onClose={onClose}
    >
      <Form.Item name="amount" label="额度" rules={[filled]}>
        <QuotaField amounts="set" />
      </Form.Item>
    </FormDialog>
  );
}

/** Gives the team another name. */
export function RenameDialog({ team, onClose }: DialogProps) {
  const rename = useCall(teamApi.rename, closing([teamApi.get, teamApi.list], "团队名称已修改！", onClose));
  return (
    <FormDialog<{ name: string }>
      title="修改团队名称"
      width={420}
      okText="保存"
      isBusy={rename.isPending}
      initialValues={{ name: team.name }}
      onFinish={(body) => rename.mutate({ params: { id: team.id }, body })}
      onClose={onClose}
    >
      <Form.Item name="name" label="团队名称" rules={[required, rule(teamApi.rename.body.shape.name)]}>
        <Input maxLength={30} showCount />
      </Form.Item>
    </FormDialog>
  );
}

interface Invitation {
  readonly role: Exclude<TeamRole, "owner">;
  readonly max_uses: number;
  readonly days: number;
}

export function InviteDialog({ team, onClose }: DialogProps) {
  const [link, setLink] = useState("");
  const invite = useCall(teamApi.invite, {
    invalidates: [teamApi.invitations],
    onSuccess: ({ code }) => setLink(`${window.location.origin}/team/join#${code}`),
  });
  if (link !== "")
    return (
      <Modal
        open
        title="邀请链接"
        width={520}
        onCancel={onClose}
        footer={
          <Button type="primary" onClick={onClose}>
            完成
          </Button>
        }
      >
        <p>把链接发给要邀请的人；它只显示这一次。</p>
        <CopyField label="邀请链接" text={link} copyLabel="复制邀请链接" />
      </Modal>
    );
  return (
    <FormDialog<Invitation>
      title="邀请成员"
      width={480}
      okText="生成链接"
      isBusy={invite.isPending}
      initialValues={{ role: "member", max_uses: 1, days: 7 }}
      onFinish={(body) => invite.mutate({ params: { id: team.id }, body })}
      onClose={onClose}
    >
      <Form.Item name="role" label="角色">
        <Select options={roleOptions(team)} />
      </Form.Item>
      <div className="tg-form-row">
        <Form.Item name="max_uses" label="可用次数" rules={[filled]}>
          <NumberInput min={1} max={100} precision={0} suffix="次" className="tg-count-field" />
        </Form.Item>
        <Form.Item name="days" label="有效期" rules={[filled]}>
          <NumberInput min={1} max={30} precision={0} suffix="天" className="tg-count-field" />
        </Form.Item>
      </div>
    </FormDialog>
  );
}

interface MemberDialogProps extends DialogProps {
  readonly member: TeamMember;
}

/** What a member may spend of the wallet; limits of other kinds stay. */
export function CapDialog({ team, member, onClose }: MemberDialogProps) {
  const set = useCall(teamApi.setCaps, closing([teamApi.members], "上限已保存", onClose));
  const boost = useCall(teamApi.boostCap, boosted([teamApi.members], onClose));
  return (
    <CapForm
      of={member.username}
      lead="该成员的令牌在一个周期内最多从钱包花费这么多，超出的调用会被拒绝；用到 80% 时发邮件提醒。"
      limits={member.limits}
      isBusy={set.isPending}
      onSave={(limits) =>
        set.mutate({ params: { id: team.id }, body: { user_id: member.user_id, limits: [...limits] } })
      }
      isRaising={boost.isPending}
      onRaise={(body) =>
        boost.mutate({ params: { id: team.id }, body: { ...body, user_id: member.user_id } })
      }
      onClose={onClose}
    />
  );
}

export function RoleDialog({ team, member, onClose }: MemberDialogProps) {
  const set = useCall(teamApi.setRole, closing([teamApi.members], "角色已修改", onClose));
  return (
    <FormDialog<{ role: Exclude<TeamRole, "owner"> }>
      title={`角色：${member.username}`}
      width={440}
      okText="保存"
      isBusy={set.isPending}
      initialValues={{ role: member.role }}
      onFinish={({ role }) =>
        set.mutate({ params: { id: team.id }, body: { user_id: member.user_id, role } })
      }
      onClose={onClose}
    >
      <Form.Item name="role" label="角色" extra="改为财务或只读后，该成员的团队令牌停用。">
        <Select options={roleOptions(team)} />
      </Form.Item>
    </FormDialog>
  );
}

/** Removes a member; his tokens go to the owner or manager who is chosen, or end. */
export function RemoveDialog({
  team,
  member,
  heirs,
  onClose,
}: MemberDialogProps & { readonly heirs: readonly TeamMember[] }) {
  const [heir, setHeir] = useState(0);
  const remove = useCall(
    teamApi.removeMember,
    closing([teamApi.members, teamApi.get], "已移出团队", onClose),
  );
  return (
    <AskDialog
      title={`移出团队：${member.username}`}
      width={440}
      okText="确认移出"
      isBusy={remove.isPending}
      isDanger
      onOk={() =>
        remove.mutate({ params: { id: team.id }, query: { user_id: member.user_id, heir_id: heir } })
      }
      onClose={onClose}
    >
      <p>移出后立即失去访问权限，历史费用保留。</p>
      <Form layout="vertical">
        <Form.Item label="该成员的团队令牌" htmlFor="team-heir">
          <Select
            id="team-heir"
            value={heir}
            onChange={setHeir}
            options={[
              { value: 0, label: "立即失效" },
              ...heirs.map(({ user_id, username }) => ({
                value: user_id,
                label: `交给 ${username}（密钥不变）`,
              })),
            ]}
          />
        </Form.Item>
      </Form>
    </AskDialog>
  );
}

// Clears the second factors of a user who has lost them; the reason is kept in the audit log. Those of a super administrator are asked
// for, and cleared a day later (requirements I34).
import { Button, Form, Input } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { filled } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { PendingReset, usePendingReset } from "#console/ui/pending-reset.tsx";
import { factorApi, type FactorReset as Pending } from "#contract/factor.ts";
import type { User } from "#contract/user.ts";
import { isProtected } from "./values.ts";

interface Values {
  readonly reason: string;
}

/** What is said and done at each step: at once, asked for, or due. */
const STEPS = {
  now: {
    button: "清除两步验证",
    confirm: "确认清除",
    question: "请先通过其他途径确认对方身份：清除后只凭密码即可登录。",
  },
  ask: {
    button: "申请清除两步验证",
    confirm: "提出申请",
    question:
      "请先通过其他途径确认对方身份。申请会邮件通知本人与所有超级管理员，他们都可以撤销；满 24 小时后您才能执行。",
  },
  due: {
    button: "执行清除",
    confirm: "确认清除",
    question: "申请已满 24 小时。清除后对方只凭密码即可登录，其会话与系统访问令牌随之失效。",
  },
} as const;

/** Undefined = nothing can be done but wait. */
function stepOf(isSuper: boolean, pending: Pending | null | undefined): keyof typeof STEPS | undefined {
  if (!isSuper) return "now";
  if (pending === null) return "ask";
  return pending?.is_mine && pending.due_at * 1000 <= Date.now() ? "due" : undefined;
}

interface DialogProps {
  readonly user: User;
  readonly step: keyof typeof STEPS;
  readonly onClose: () => void;
}

function ResetDialog({ user, step, onClose }: DialogProps) {
  const reset = useCall(factorApi.reset, {
    invalidates: [factorApi.pendingReset],
    onSuccess: ({ due_at }) => {
      toast.success(due_at > 0 ? "已提出申请，满 24 小时后可以执行！" : "两步验证已清除，该用户须重新登录！");
      onClose();
    },
  });
  return (
    <FormDialog<Values>
      title={`清除 ${user.username} 的两步验证`}
      width={440}
      okText={STEPS[step].confirm}
      isDanger
      isBusy={reset.isPending}
      lead={<p>{STEPS[step].question}</p>}
      requiredMark={false}
      onFinish={({ reason }) => reset.mutate({ body: { id: user.id, reason: reason.trim() } })}
      onClose={onClose}
    >
      <Form.Item name="reason" label="原因" rules={[filled]}>
        <Input maxLength={200} placeholder="例如：手机丢失，已视频核实" />
      </Form.Item>
    </FormDialog>
  );
}

export function FactorReset({ user }: { readonly user: User }) {
  const [opened, open] = useState<keyof typeof STEPS>();
  const isSuper = isProtected(user);
  const pending = usePendingReset(user.id, isSuper);
  const step = stepOf(isSuper, pending);
  return (
    <section className="tg-card tg-section">
      <h2>两步验证</h2>
      <p>
        {isSuper
          ? "这位超级管理员丢失手机与恢复码时使用：须先申请，满 24 小时后由申请人执行，期间本人与任何超级管理员都可以撤销。"
          : "用户丢失手机与恢复码时使用：清除全部验证方式，结束所有会话与系统访问令牌，并邮件通知本人。"}
      </p>
      {pending ? <PendingReset userId={user.id} pending={pending} /> : null}
      {step === undefined ? null : (
        <Button danger onClick={() => open(step)}>
          {STEPS[step].button}
        </Button>
      )}
      {opened === undefined ? null : (
        <ResetDialog user={user} step={opened} onClose={() => open(undefined)} />
      )}
    </section>
  );
}

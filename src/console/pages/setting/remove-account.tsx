// The end of the user's own account: the name typed to confirm, and the human check (requirements B5).
import { useQueryClient } from "@tanstack/react-query";
import { Button, Input } from "antd";
import { useId, useState } from "react";
import { useNavigate } from "react-router";
import { call, useCall } from "#console/base/call.ts";
import { faultText } from "#console/base/faults.ts";
import { isRoot, signOut } from "#console/base/session.ts";
import { toast } from "#console/base/toast.ts";
import { AskDialog } from "#console/ui/ask-dialog.tsx";
import { Callout } from "#console/ui/callout.tsx";
import { HumanCheckBox, useHumanCheck } from "#console/ui/human-check.tsx";
import { Section } from "#console/ui/section.tsx";
import { accountApi } from "#contract/account.ts";
import { authApi } from "#contract/auth.ts";
import type { User } from "#contract/user.ts";

const CONFIRM = "请输入你的账户名以确认删除！";

function useRemoval() {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useCall(accountApi.removeSelf, {
    onSuccess: () => {
      const leave = async () => {
        // The account is gone already; a logout that fails changes nothing.
        await call(authApi.logout, {}).catch(() => null);
        toast.success("账户已删除！");
        signOut("left");
        client.clear();
        await navigate("/login");
      };
      void leave();
    },
  });
}

function RemovalDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [isRefused, setRefused] = useState(false);
  const check = useHumanCheck();
  const removal = useRemoval();
  const confirm = () => {
    const isWrong = typed !== user.username;
    setRefused(isWrong);
    if (isWrong) {
      toast.error(CONFIRM);
      return;
    }
    const turnstile = check.take();
    if (turnstile !== undefined) removal.mutate({ query: { username: typed, turnstile } });
  };
  return (
    <AskDialog
      title="删除个人账户"
      width={520}
      okText="确认删除"
      isBusy={removal.isPending}
      isDanger
      onOk={confirm}
      onClose={onClose}
    >
      <div className="tg-setting-stack">
        <Callout tone="bad">删除后，账户的余额与所有令牌立即作废，无法恢复；已经产生的记录会保留。</Callout>
        {removal.error === null ? null : <Callout tone="bad">{faultText(removal.error)}</Callout>}
        <div>
          <label htmlFor={id}>
            输入你的账户名 <strong>{user.username}</strong> 以确认删除
          </label>
          <Input
            id={id}
            autoFocus
            autoComplete="off"
            value={typed}
            {...(isRefused ? { status: "error" } : {})}
            aria-invalid={isRefused}
            onChange={(event) => {
              setTyped(event.target.value);
              setRefused(false);
            }}
            onPressEnter={confirm}
          />
          {isRefused ? (
            <p role="alert" className="tg-setting-fault">
              {CONFIRM}
            </p>
          ) : null}
        </div>
        <HumanCheckBox check={check} />
      </div>
    </AskDialog>
  );
}

export function RemoveAccount({ user }: { readonly user: User }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Section
      title="删除个人账户"
      lead={isRoot(user) ? "超级管理员的账户不能删除。" : "删除后无法恢复，请先确认余额已经用完。"}
      className="tg-danger-zone"
    >
      <Button danger disabled={isRoot(user)} onClick={() => setOpen(true)}>
        删除个人账户
      </Button>
      {isOpen ? <RemovalDialog user={user} onClose={() => setOpen(false)} /> : null}
    </Section>
  );
}
